// The shipped Grafana dashboard and alert rules against the metrics of a real node; the real promtool parses every expression.
import {spawnSync} from 'node:child_process';
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {stringify} from 'yaml';
import {programsMissing} from '../helpers/installed.ts';
import {testFolder} from '../helpers/test-folder.ts';
import {testWith} from '../helpers/test-with.ts';
import {useNode} from '../helpers/use-node.ts';

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: {x: number; y: number; w: number; h: number};
  datasource?: {uid: string};
  targets?: {expr: string; datasource: {uid: string}}[];
}

interface Dashboard {
  panels: Panel[];
  templating: {list: {name: string; type: string}[]};
}

const read = async (file: string) => readFile(new URL(`../../daemon/deploy/${file}`, import.meta.url), 'utf8');
const dashboard = JSON.parse(await read('grafana/mfd.json')) as Dashboard;
const charts = dashboard.panels.filter(({type}) => type !== 'row');
const expressions = charts.flatMap(({targets = []}) => targets.map(({expr}) => expr));

/** Grafana's notation for a variable. */
const chosenSource = ['$', '{datasource}'].join('');

const node = useNode();

/** Metrics that exist only where Postfix is configured. */
const withPostfixOnly = ['mfd_postfix_reconciled_timestamp_seconds', 'mfd_postfix_reconcile_failures_total'];

testWith('promtool', programsMissing(['promtool']))('promtool reads every expression of the dashboard', async t => {
  const folder = await testFolder(t);
  const file = join(folder, 'rules.yml');
  const rules = expressions.map((expr, n) => ({record: `panel:${n}`, expr: filledIn(expr)}));
  await writeFile(file, stringify({groups: [{name: 'dashboard', rules}]}));

  const {status, stdout, stderr} = spawnSync('promtool', ['check', 'rules', file], {encoding: 'utf8'});

  t.is(status, 0, stdout + stderr);
  t.true(stdout.includes(`${expressions.length} rules found`), stdout);
});

test('every metric in the dashboard and the alerts is one of a node', async t => {
  const metrics = await (await fetch(new URL('/metrics', node().metrics_url))).text();
  const known = new Set(
    [...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type = '']) => samplesOf(name, type)),
  );
  const rules = (await read('prometheus/mfd.rules.yml')).replace(/^\s*(#|summary:|description:).*$/gm, '');

  for (const text of [rules, ...expressions])
    for (const name of text.match(/\b(mfd|process|nodejs)_\w+/g) ?? [])
      t.true(known.has(name) || withPostfixOnly.includes(name), name);
  t.true(known.has('mfd_http_request_duration_seconds_bucket'));
});

test('a panel of the dashboard asks the data source that was chosen, and covers no other', t => {
  t.deepEqual(
    dashboard.templating.list.map(({name, type}) => [name, type]),
    [
      ['datasource', 'datasource'],
      ['job', 'query'],
      ['instance', 'query'],
    ],
  );
  for (const {title, datasource, targets = []} of charts) {
    t.true(targets.length > 0, title);
    for (const {uid} of [datasource ?? {uid: ''}, ...targets.map(target => target.datasource)]) t.is(uid, chosenSource, title);
    for (const {expr} of targets) t.true(expr.includes('job="$job", instance=~"$instance"'), expr);
  }
  const cells = dashboard.panels.flatMap(({gridPos}) => cellsOf(gridPos));
  t.is(new Set(cells).size, cells.length);
  t.is(new Set(dashboard.panels.map(({id}) => id)).size, dashboard.panels.length);
});

const filledIn = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'mfd').replaceAll('$instance', '.*');

const samplesOf = (name: string, type: string): string[] =>
  type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];

const cellsOf = ({x, y, w, h}: Panel['gridPos']): string[] =>
  Array.from({length: w * h}, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`);
