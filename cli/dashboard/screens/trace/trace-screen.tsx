import {type ReactElement, useEffect} from 'react';
import type {Client} from '../../../client/client.ts';
import {parseQuery, traceWords} from '../../../quarantine/query-line.ts';
import {traceParameters} from '../../../trace/trace-query.ts';
import type {ShownList} from '../../list/list-lines.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import {pauseBinding} from '../../list/tail.ts';
import {useKeptReducer, useWatched} from '../../shell/hooks.ts';
import {Permitted} from '../../shell/permitted.tsx';
import {guarded, type Shell, useShell} from '../../shell/shell.ts';
import {historyPage} from '../quarantine/mail-history.ts';
import {quarantineContext} from '../quarantine/quarantine-context.ts';
import {traceList} from './trace-list.ts';
import {emptyTrace, hasOlder, type TracePage, type TraceRow, traceReducer} from './trace-state.ts';

export const TraceScreen = (): ReactElement => <Permitted permission="trace:read" what="the trace" screen={Trace} />;

/** Pages are small at first, as most users read only the newest entries. */
const firstCount = 100;
const olderCount = 200;
/** Most of what happens has no event. */
const followEveryMs = 3000;

const Trace = (): ReactElement => {
  const shell = useShell();
  const {app} = shell;
  const [state, dispatch] = useKeptReducer(app, 'trace', traceReducer, emptyTrace);
  const [listState, dispatchList] = useListState('trace');
  const {filter, next} = state;
  const source = app.source<{page: TracePage; filter: string}>(`trace ${filter}`, {
    load: async () => ({page: await readPage(app.client, filter, {limit: firstCount, nowMs: app.now()}), filter}),
    refreshOn: ['held', 'released', 'discarded'],
    everyMs: followEveryMs,
    whileLiveMs: followEveryMs,
  });
  const loaded = useWatched(source);
  const names = useWatched(quarantineContext(app).names).value;
  const list = traceList(state, {loaded, names});

  useEffect(() => dispatch({kind: 'opened'}), [dispatch]);
  const {value} = loaded;
  useEffect(() => {
    if (value) dispatch({kind: 'newest', ...value});
  }, [value, dispatch]);

  /** Reads ahead, before the cursor reaches the end. */
  const readOlder = ({rows, position, height}: ShownList<TraceRow>): void => {
    const isNearEnd = rows.length - position.cursor < 2 * height;
    if (!isNearEnd || next === undefined || !hasOlder(state) || state.older !== 'idle') return;
    dispatch({kind: 'older-asked'});
    readPage(app.client, filter, {limit: olderCount, nowMs: app.now(), cursor: next}).then(
      page => dispatch({kind: 'older', page, cursor: next, filter}),
      error => {
        dispatch({kind: 'older-failed'});
        shell.fail(error);
      },
    );
  };

  return (
    <ListScreen
      {...{list, state: listState, refresh: source.refresh, onShown: readOlder}}
      dispatch={event => {
        dispatchList(event);
        if (event.kind === 'filtered') dispatch({kind: 'filtered', filter: event.filter.trim()});
      }}
      bindings={row => [
        {
          keys: ['enter'],
          label: 'history',
          help: 'everything that happened to this mail, in words to be read to a caller',
          run: () => row && void openHistory(shell, row),
        },
        pauseBinding(state.tail, () => dispatch({kind: 'pause-toggled'})),
      ]}
    />
  );
};

/** Of mail that was refused before its content the entry is all there is. */
const openHistory = (shell: Shell, {key: _key, place: _place, ...event}: TraceRow): Promise<void> =>
  guarded(shell, async () => {
    const {node_id, queue_id} = event;
    const {client, theme} = shell.app;
    const events = queue_id === null ? [event] : (await client.trace.show({node_id, queue_id})).data;
    shell.openLater(historyPage(events, theme));
  });

interface PageQuery {
  limit: number;
  nowMs: number;
  cursor?: string;
}

const readPage = async (client: Pick<Client, 'trace'>, filter: string, {nowMs, ...page}: PageQuery): Promise<TracePage> => {
  const {data, unreachableNodes} = await client.trace.find({...traceParameters(parseQuery(filter, traceWords), nowMs), ...page});
  return {events: data, isFull: data.length >= page.limit, unreachable: unreachableNodes};
};
