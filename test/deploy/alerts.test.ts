// The shipped alert rules, checked and evaluated by the real promtool, against the metrics of a real node.
import {spawnSync} from 'node:child_process';
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test, {type ExecutionContext} from 'ava';
import {parse, stringify} from 'yaml';
import {programsMissing} from '../helpers/installed.ts';
import {testFolder} from '../helpers/test-folder.ts';
import {testWith} from '../helpers/test-with.ts';
import {type AlertCase, alertCases} from './alert-cases.ts';

interface Rule {
  alert: string;
  labels: {severity: string};
  annotations: {summary: string; description: string};
}

const rulesFile = fileURLToPath(new URL('../../daemon/deploy/prometheus/mfd.rules.yml', import.meta.url));
const {groups} = parse(await readFile(rulesFile, 'utf8')) as {groups: {rules: Rule[]}[]};
const rules = groups.flatMap(group => group.rules);

const withPromtool = testWith('promtool', programsMissing(['promtool']));

const promtool = (...args: string[]) => {
  const {status, stdout, stderr} = spawnSync('promtool', args, {encoding: 'utf8'});
  return {status, output: stdout + stderr};
};

test('every alert has a case, and says what to do', t => {
  t.deepEqual(
    Object.keys(alertCases),
    rules.map(({alert}) => alert),
  );
  for (const {alert, labels, annotations} of rules) {
    t.true(['info', 'warning', 'critical'].includes(labels.severity), alert);
    t.regex(annotations.description, /[.?]$/, alert);
  }
});

withPromtool('promtool has nothing to say against the rules', t => {
  const {status, output} = promtool('check', 'rules', rulesFile);

  t.is(status, 0, output);
  t.false(output.includes('duplicate'), output);
});

withPromtool('every alert fires when it should, and is silent when it nearly should', async t => {
  const [short, long] = [await writeCases(t, isShort, '1m'), await writeCases(t, rule => !isShort(rule), '10m')];

  const {status, output} = promtool('test', 'rules', short, long);

  t.is(status, 0, output);
});

/** Alerts that take days to fire need not be evaluated every minute. */
const isShort = (rule: Rule): boolean => casesOf(rule).every(({at}) => !/^\d{2,}h$/.test(at));

const casesOf = ({alert}: Rule): AlertCase[] => [alertCases[alert] ?? []].flat();

const writeCases = async (t: ExecutionContext, which: (rule: Rule) => boolean, interval: string): Promise<string> => {
  const folder = await testFolder(t);
  const file = join(folder, 'cases.yml');
  const tests = rules
    .filter(which)
    .flatMap(rule => casesOf(rule).flatMap(one => [inPromtool(rule, one, 'fires'), inPromtool(rule, one, 'silent')]));
  await writeFile(file, stringify({rule_files: [rulesFile], evaluation_interval: interval, tests}));
  return file;
};

const inPromtool = ({alert, labels, annotations}: Rule, one: AlertCase, outcome: 'fires' | 'silent') => ({
  name: `${alert} ${outcome}`,
  interval: '1m',
  input_series: Object.entries(one[outcome]).map(([series, values]) => ({series, values})),
  alert_rule_test: [
    {
      alertname: alert,
      eval_time: one.at,
      exp_alerts:
        outcome === 'silent'
          ? []
          : [{exp_labels: {...one.labels, ...labels}, exp_annotations: {...annotations, summary: one.summary}}],
    },
  ],
});
