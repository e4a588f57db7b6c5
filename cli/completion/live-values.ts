// What a node says there is to choose from, each value with a word about it.
import type {ApiKey} from '../../shared/api-key.ts';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {ClusterStatus} from '../../shared/cluster-status.ts';
import type {DkimKey} from '../../shared/dkim-key.ts';
import type {Domain} from '../../shared/domain.ts';
import {canonicalDomain} from '../../shared/domain-name.ts';
import type {HeldMail} from '../../shared/held-mail.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import {senderText} from '../output/cell-text.ts';
import {mailId} from '../quarantine/mail-id.ts';
import type {Ask} from './quick-ask.ts';
import type {LiveKind} from './value-kinds.ts';

export interface Candidate {
  value: string;
  /** Hostile text, until it is written out. */
  about: string;
}

export interface LiveQuestion {
  ask: Ask;
  /** What is typed of the value. */
  prefix: string;
  /** The arguments that are typed already. */
  operands: readonly string[];
}

/** As many as are worth choosing from; a list of mail is asked for no more than these. */
export const maxValues = 200;

export const liveValues = (kind: LiveKind, question: LiveQuestion): Promise<Candidate[]> => askers[kind](question);

const askers: Record<LiveKind, (question: LiveQuestion) => Promise<Candidate[]>> = {
  node: async ({ask}) => {
    const {peers} = await ask<ClusterStatus>('cluster/status');
    return peers.map(({node_id, healthy, fqdn}) => ({value: node_id, about: `${healthy}, ${fqdn}`}));
  },
  mail: async ({ask, prefix}) => {
    const [node] = prefix.includes('/') ? prefix.split('/') : [];
    const filter = node === undefined ? '' : `&node=${encodeURIComponent(node)}`;
    const mails = await ask<HeldMail[]>(`mail/quarantine?limit=${maxValues}${filter}`);
    return mails.map(mail => ({value: mailId(mail), about: `${mail.subject} (${senderText(mail.sender)})`}));
  },
  domain: async ({ask}) => {
    const domains = await ask<Domain[]>('domains');
    return domains.map(({name, direction, active}) => ({value: name, about: active ? direction : `${direction}, inactive`}));
  },
  key: async ({ask, prefix}) => {
    const keys = await ask<ApiKey[]>('auth/api-keys');
    const isOnlyOne = ({name}: ApiKey) => keys.filter(key => key.name === name).length === 1;
    const about = ({scope, revoked_at}: ApiKey) => `${scope}${revoked_at === null ? '' : ', revoked'}`;
    return [
      ...keys.map(key => ({value: String(key.id), about: `${key.name} (${about(key)})`})),
      // Names are offered once something is typed; until then each key appears once.
      ...keys.filter(key => prefix !== '' && isOnlyOne(key)).map(key => ({value: key.name, about: about(key)})),
    ];
  },
  filter: async question => {
    const filters = await question.ask<MailFilter[]>(`domains/${await typedDomainId(question)}/filters`);
    return filters.map(({id, action, match, pattern}) => ({value: String(id), about: `${action} ${match} ${pattern}`}));
  },
  selector: async question => {
    const keys = await question.ask<DkimKey[]>(`domains/${await typedDomainId(question)}/dkim-keys`);
    return keys.map(({selector, algorithm}) => ({value: selector, about: algorithm}));
  },
  action: async ({ask}) => {
    const entries = await ask<AuditEntry[]>('audit?limit=1000');
    return [...new Set(entries.map(({action}) => action))].toSorted().map(value => ({value, about: ''}));
  },
};

const typedDomainId = async ({ask, operands: [typed = '']}: LiveQuestion): Promise<number | string> => {
  if (/^\d{1,16}$/.test(typed)) return typed;
  const name = canonicalDomain(typed);
  const found = (await ask<Domain[]>('domains')).find(domain => domain.name === name);
  if (found === undefined) throw new Error(`no domain is called ${typed}`);
  return found.id;
};
