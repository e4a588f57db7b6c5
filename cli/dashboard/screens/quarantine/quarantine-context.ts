// State and sources of the quarantine screen, kept while another screen is shown.

import {ownValue} from '../../../../shared/has-own.ts';
import {reasons} from '../../../../shared/reason.ts';
import {filterNames} from '../../../quarantine/query-line.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {createStore} from '../../shell/store.ts';
import {createActingMails} from './held-mail-actions.ts';
import {createMailList, type Thresholds} from './mail-list.ts';
import {createMailPreviews} from './mail-previews.ts';
import {afterScreenEvent, initialScreen} from './screen-state.ts';
import {createViewStore} from './view-store.ts';

const createContext = (app: AppContext) => ({
  list: createMailList(app),
  acting: createActingMails(),
  previews: createMailPreviews(app),
  screen: createStore(afterScreenEvent, initialScreen),
  views: createViewStore(app.terminal),
  names: app.source('quarantine-names', {load: () => loadNames(app), refreshOn: ['domain'], everyMs: 60_000}),
});

export type QuarantineContext = ReturnType<typeof createContext>;

export const quarantineContext = (app: AppContext): QuarantineContext => app.kept('quarantine', () => createContext(app));

/** Not every key may see domains and nodes. */
const loadNames = async ({client, may, me}: AppContext): Promise<KnownNames & {thresholds: Thresholds}> => {
  const [domains, nodes] = await Promise.all([
    may('domains:read') ? client.domains.list().then(({data}) => data) : [],
    may('cluster:read') ? client.cluster.status().then(({data}) => data.peers.map(({node_id}) => node_id)) : [me.node_id],
  ]);
  return {
    domains: domains.map(domain => domain.name),
    nodes,
    thresholds: new Map(domains.map(domain => [domain.name, domain])),
  };
};

/** Known names of the cluster. */
export interface KnownNames {
  domains: readonly string[];
  nodes: readonly string[];
}

const offered = ['domain:', 'from:', 'to:', 'subject:', 'since:', 'until:', 'score>=', 'score<', 'reason:', 'node:'];
const durations = ['1h', '2h', '6h', '1d', '2d', '1w'];
const most = 50;

/** Completions of the last part of the line; each is a whole line. */
export const completeQuery = (text: string, known: KnownNames = {domains: [], nodes: []}): string[] => {
  const [, before = '', last = ''] = /^(.*?)(\S*)$/s.exec(text) ?? [];
  const [, name, value] = /^([A-Za-z_]+):(.*)$/s.exec(last) ?? [];
  const found =
    name === undefined || value === undefined
      ? offered.filter(start => start.startsWith(last.toLowerCase()))
      : valuesOf(name.toLowerCase(), known)
          .filter(each => each.startsWith(value.toLowerCase()) && each !== value)
          .map(each => `${name}:${each}`);
  return found.slice(0, most).map(each => before + each);
};

const valuesOf = (name: string, {domains, nodes}: KnownNames): readonly string[] => {
  switch (ownValue(filterNames, name)) {
    case 'domain':
      return domains;
    case 'node':
      return nodes;
    case 'reason':
      return reasons;
    case 'since':
    case 'until':
      return durations;
    default:
      return [];
  }
};
