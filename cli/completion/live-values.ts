// Completion values that a node provides, each with a short description.
import type {ApiKey} from '../../shared/api-key.ts';
import type {Client} from '../client/client.ts';
import {findDomainId} from '../domain/find-domain.ts';
import {senderText} from '../output/cell-text.ts';
import {mailId} from '../quarantine/mail-id.ts';
import type {LiveKind} from './value-kinds.ts';

export interface Candidate {
  value: string;
  /** Hostile text; sanitised when it is printed. */
  about: string;
}

interface LiveQuestion {
  client: Client;
  /** The typed beginning of the value. */
  prefix: string;
  /** The arguments typed before. */
  operands: readonly string[];
}

/** More values are no help; lists of mail are requested up to this limit. */
export const maxValues = 200;

export const liveValues = (kind: LiveKind, question: LiveQuestion): Promise<Candidate[]> => askers[kind](question);

const askers: Record<LiveKind, (question: LiveQuestion) => Promise<Candidate[]>> = {
  node: async ({client}) => {
    const {data} = await client.cluster.status();
    return data.peers.map(({node_id, healthy, fqdn}) => ({value: node_id, about: `${healthy}, ${fqdn}`}));
  },
  mail: async ({client, prefix}) => {
    const [node] = prefix.includes('/') ? prefix.split('/') : [];
    const {data} = await client.quarantine.list({limit: maxValues, node});
    return data.map(mail => ({value: mailId(mail), about: `${mail.subject} (${senderText(mail.sender)})`}));
  },
  domain: async ({client}) => {
    const {data} = await client.domains.list();
    return data.map(({name, direction, active}) => ({value: name, about: active ? direction : `${direction}, inactive`}));
  },
  key: async ({client, prefix}) => {
    const {data: keys} = await client.keys.list();
    const isOnlyOne = ({name}: ApiKey) => keys.filter(key => key.name === name).length === 1;
    const about = ({scope, revoked_at}: ApiKey) => `${scope}${revoked_at === null ? '' : ', revoked'}`;
    return [
      ...keys.map(key => ({value: String(key.id), about: `${key.name} (${about(key)})`})),
      // Names are offered once something is typed; until then each key appears once.
      ...keys.filter(key => prefix !== '' && isOnlyOne(key)).map(key => ({value: key.name, about: about(key)})),
    ];
  },
  filter: async ({client, operands: [domain = '']}) => {
    const {data} = await client.domains.filters(await findDomainId(client, domain));
    return data.map(({id, action, match, pattern}) => ({value: String(id), about: `${action} ${match} ${pattern}`}));
  },
  selector: async ({client, operands: [domain = '']}) => {
    const {data} = await client.domains.dkimKeys(await findDomainId(client, domain));
    return data.map(({selector, algorithm}) => ({value: selector, about: algorithm}));
  },
  action: async ({client}) => {
    const {data} = await client.audit.list({limit: 1000});
    return [...new Set(data.map(({action}) => action))].toSorted().map(value => ({value, about: ''}));
  },
};
