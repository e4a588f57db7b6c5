import {type ReactElement, useEffect} from 'react';
import type {Client} from '../../../client/client.ts';
import {queryOf} from '../../list/list.ts';
import type {ShownList} from '../../list/list-lines.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import {pauseBinding} from '../../list/tail.ts';
import {useKeptReducer, useWatched} from '../../shell/hooks.ts';
import {Permitted} from '../../shell/permitted.tsx';
import {useShell} from '../../shell/shell.ts';
import {auditList, auditPage} from './audit-list.ts';
import {
  type AuditPage,
  type AuditParameters,
  type AuditRow,
  auditParameters,
  auditReducer,
  emptyAudit,
  hasOlder,
  isNarrowedHere,
  knownCount,
} from './audit-state.ts';
export const AuditScreen = (): ReactElement => <Permitted permission="audit:read" what="the audit" screen={Audit} />;

/** Pages are small at first, as most users read only the newest entries. */
const firstCount = 100;
const olderCount = 200;
/** The page size for a filter that is applied here, which may match few entries. */
const searchCount = 1000;

const Audit = (): ReactElement => {
  const shell = useShell();
  const {app} = shell;
  const [state, dispatch] = useKeptReducer(app, 'audit', auditReducer, emptyAudit);
  const [listState, dispatchList] = useListState('audit');
  const {parameters} = state;
  const source = app.source<AuditPage>(`audit ${JSON.stringify(parameters)}`, {
    load: () => readPage(app.client, parameters, {limit: firstCount}),
    refreshOn: ['released', 'discarded', 'domain', 'key'],
  });
  const loaded = useWatched(source);
  const list = auditList(state, loaded);
  const query = queryOf(list, listState.filter);

  useEffect(() => dispatch({kind: 'opened'}), [dispatch]);
  const {value} = loaded;
  useEffect(() => {
    if (value) dispatch({kind: 'newest', page: value});
  }, [value, dispatch]);

  /** Reads ahead, before the cursor reaches the end. */
  const readOlder = ({rows, position, height}: ShownList<AuditRow>): void => {
    const isNearEnd = rows.length - position.cursor < 2 * height;
    if (!isNearEnd || !hasOlder(state) || state.older !== 'idle') return;
    dispatch({kind: 'older-asked'});
    const limit = isNarrowedHere(query) ? searchCount : olderCount;
    readPage(app.client, parameters, {limit, offset: knownCount(state)}).then(
      page => {
        dispatch({kind: 'older', page, parameters});
        if (page.unreachable.join() !== state.unreachable.join()) source.refresh();
      },
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
        if (event.kind !== 'filtered') return;
        dispatch({kind: 'filtered', parameters: auditParameters(queryOf(list, event.filter), app.now())});
      }}
      bindings={row => [
        {
          keys: ['enter'],
          label: 'all of it',
          help: 'everything that is known of this entry',
          run: () => row && shell.open(auditPage(row, app.theme)),
        },
        pauseBinding(state.tail, () => dispatch({kind: 'pause-toggled'})),
      ]}
    />
  );
};

const readPage = async (
  client: Client,
  parameters: AuditParameters,
  page: {limit: number; offset?: number},
): Promise<AuditPage> => {
  const {data, totalCount, unreachableNodes} = await client.audit.list({...parameters, ...page});
  return {entries: data, total: totalCount ?? data.length, unreachable: unreachableNodes};
};
