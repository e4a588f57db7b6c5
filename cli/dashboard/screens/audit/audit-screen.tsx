import {type ReactElement, useEffect} from 'react';
import type {AuditEntry} from '../../../../shared/audit-entry.ts';
import type {Client} from '../../../client/client.ts';
import {checkedQuery, type TailNeeds, tailBindings} from '../../list/tail-bindings.ts';
import {tailHeight} from '../../list/tail-lines.ts';
import type {TailQuery} from '../../list/tail-query.ts';
import {useKeptReducer, useNow, useOffer, useSource} from '../../shell/hooks.ts';
import {Lines} from '../../shell/lines.tsx';
import {Permitted} from '../../shell/permitted.tsx';
import {useFrame} from '../../shell/shell.ts';
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
  const frame = useFrame();
  const {desk, size, isActive} = frame;
  const [state, dispatch] = useKeptReducer(desk, 'audit', auditReducer, emptyAudit);
  const {tail, parameters} = state;
  const source = desk.source<AuditPage>(`audit ${JSON.stringify(parameters)}`, {
    load: () => readPage(desk.client, parameters, {limit: firstCount}),
    refreshOn: ['released', 'discarded', 'domain', 'key'],
  });
  const loaded = useSource(source);
  const facts = {loaded, nowMs: useNow(desk)};
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
    readPage(desk.client, parameters, {limit, offset: knownCount(state)}).then(
      page => {
        dispatch({kind: 'older', page, parameters});
        if (page.unreachable.join() !== state.unreachable.join()) source.refresh();
      },
      error => {
        dispatch({kind: 'older-failed'});
        frame.fail(error);
      },
    );
  };
  useEffect(readOlder);

  const narrow = (query: TailQuery): void => dispatch({kind: 'narrowed', query, parameters: auditParameters(query, desk.now())});
  const needs: TailNeeds<AuditRow> = {
    frame,
    tail,
    height,
    dispatch: event => dispatch({kind: 'tail', event}),
    terms: termsOf(tail.rows),
    hint: 'words, action:, key:, node:, result: and since:2h',
    check: auditFault,
    narrow,
    show: row => frame.open(auditPage(row, desk.theme)),
  };
  useOffer({
    bindings: [...tailBindings(needs), {keys: ['r'], help: 'read it anew', run: source.refresh}],
    commands: [
      {
        name: 'filter',
        help: `show only some entries; ${needs.hint}`,
        run: text => narrow(checkedQuery(text, auditTerms, auditFault)),
      },
    ],
  });

  const lines = auditLines(state, facts, {size, theme: desk.theme, isActive});
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
