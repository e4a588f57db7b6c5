// State and sources of the quarantine screen, kept while another screen is shown.

import type {KnownNames} from '../../../quarantine/query-line.ts';
import {initialList, type ListEvent, listReducer} from '../../list/list.ts';
import {initialPosition} from '../../list/list-window.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {createStore} from '../../shell/store.ts';
import {createActingMails} from './held-mail-actions.ts';
import {createHeldPart} from './held-part.ts';
import {createMailPreviews} from './mail-previews.ts';
import type {Thresholds} from './quarantine-list.ts';
import {afterScreenEvent, initialScreen} from './screen-state.ts';
import {createViewStore} from './view-store.ts';

const createContext = (app: AppContext) => {
  const screen = createStore(afterScreenEvent, initialScreen);
  const list = createStore(listReducer, initialList);
  const dispatch = (event: ListEvent): void => {
    list.dispatch(event);
    if (event.kind === 'filtered' || event.kind === 'sorted') screen.dispatch({type: 'range-left'});
    if (event.kind === 'sorted') list.dispatch({kind: 'placed', position: initialPosition, cursorKey: undefined});
  };
  const state = {...list, dispatch};
  return {
    /** Filter, order and cursor. Another order begins at its top. */
    state,
    screen,
    held: createHeldPart({...app, state, onArrived: count => screen.dispatch({type: 'arrived', count})}),
    acting: createActingMails(),
    previews: createMailPreviews(app),
    views: createViewStore(app.terminal),
    names: app.source('quarantine-names', {load: () => loadNames(app), refreshOn: ['domain'], everyMs: 60_000}),
  };
};

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
