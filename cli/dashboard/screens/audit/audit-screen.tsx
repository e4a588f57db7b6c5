import {type ReactElement, useEffect} from 'react';
import type {AuditEntry} from '../../../../shared/audit-entry.ts';
import type {Client} from '../../../client/client.ts';
import {checkedQuery, type TailNeeds, tailBindings} from '../../list/tail-bindings.ts';
import {tailHeight} from '../../list/tail-lines.ts';
import type {TailQuery} from '../../list/tail-query.ts';
import {useBindings, useKeptReducer, useNow, useSource} from '../../shell/hooks.ts';
import {Lines} from '../../shell/lines.tsx';
import {Permitted} from '../../shell/permitted.tsx';
import {useShell} from '../../shell/shell.ts';
import {auditBanners, auditLines, auditPage} from './audit-lines.ts';
import {type AuditParameters, auditFault, auditParameters, isNarrowedHere} from './audit-query.ts';
import {type AuditPage, type AuditRow, auditReducer, auditTerms, emptyAudit, hasOlder, knownCount} from './audit-state.ts';

/** Each is a request: most look at the newest only. */
const firstCount = 100;
const olderCount = 200;
/** When only a few of many are looked for. */
const searchCount = 1000;

export const AuditScreen = (): ReactElement => <Permitted permission="audit:read" what="the audit" screen={AuditTailScreen} />;

const AuditTailScreen = (): ReactElement => {
  const shell = useShell();
  const {app, size, isActive} = shell;
  const [state, dispatch] = useKeptReducer(app, 'audit', auditReducer, emptyAudit);
  const {tail, parameters} = state;
  const source = app.source<AuditPage>(`audit ${JSON.stringify(parameters)}`, {
    load: () => readPage(app.client, parameters, {limit: firstCount}),
    refreshOn: ['released', 'discarded', 'domain', 'key'],
  });
  const loaded = useSource(source);
  const facts = {loaded, nowMs: useNow(app)};
  const height = tailHeight(size, auditBanners(state, facts));

  useEffect(() => dispatch({kind: 'opened'}), [dispatch]);
  const {value} = loaded;
  useEffect(() => {
    if (value) dispatch({kind: 'newest', page: value});
  }, [value, dispatch]);

  // Before the end is reached, so that nobody has to wait for it.
  const isNearEnd = tail.shown.length - tail.position.cursor < 2 * height;
  const isOlderWanted = isNearEnd && hasOlder(state) && state.older === 'idle';
  const readOlder = (): void => {
    if (!isOlderWanted) return;
    dispatch({kind: 'older-asked'});
    const limit = isNarrowedHere(tail.query) ? searchCount : olderCount;
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
  useEffect(readOlder);

  const narrow = (query: TailQuery): void => dispatch({kind: 'narrowed', query, parameters: auditParameters(query, app.now())});
  const needs: TailNeeds<AuditRow> = {
    shell,
    tail,
    height,
    dispatch: event => dispatch({kind: 'tail', event}),
    terms: termsOf(tail.rows),
    hint: 'words, action:, key:, node:, result: and since:2h',
    check: auditFault,
    narrow,
    show: row => shell.open(auditPage(row, app.theme)),
  };
  useBindings({
    bindings: [...tailBindings(needs), {keys: ['r'], help: 'read it anew', run: source.refresh}],
    commands: [
      {
        name: 'filter',
        help: `show only some entries; ${needs.hint}`,
        run: text => narrow(checkedQuery(text, auditTerms, auditFault)),
      },
    ],
  });

  const lines = auditLines(state, facts, {size, theme: app.theme, isActive});
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};

const readPage = async (
  client: Client,
  parameters: AuditParameters,
  page: {limit: number; offset?: number},
): Promise<AuditPage> => {
  const {data, totalCount, unreachableNodes} = await client.send<AuditEntry[]>({path: 'audit', query: {...parameters, ...page}});
  return {entries: data, total: totalCount ?? data.length, unreachable: unreachableNodes};
};

/** What tab goes through: what has been seen. */
const termsOf = (rows: readonly AuditRow[]): Record<(typeof auditTerms)[number], string[]> => ({
  action: rows.flatMap(({action}) => [action, action.replace(/\..*/, '')]),
  key: rows.flatMap(({key_name}) => key_name ?? []),
  node: rows.map(({node_id}) => node_id),
  since: ['1h', '1d', '7d'],
  result: rows.map(({result}) => result),
});
