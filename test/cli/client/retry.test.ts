import test from 'ava';
import {createRetry} from '../../../cli/client/retry.ts';
import {CliError, type CliErrorDetails, exitCodes} from '../../../cli/errors.ts';
import {domain} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';
import {mfctlFile} from '../../helpers/program.ts';
import {hasScript, runInTerminal} from '../../helpers/pseudo-terminal.ts';

const busy = (retryAfterSeconds: number | undefined, code = 'rate_limited', details: CliErrorDetails = {}) =>
  new CliError(code, 'as scripted', {retryAfterSeconds, ...details});

/** A retry with scripted answers, and a clock that only sleeping moves. */
const arrange = (budgetMs: number, answers: (CliError | string)[]) => {
  let nowMs = 1_000_000;
  const slept: number[] = [];
  const said: string[] = [];
  const retry = createRetry({
    budgetMs,
    now: () => nowMs,
    async sleep(ms) {
      slept.push(ms);
      nowMs += ms;
    },
    say: text => said.push(text),
  });
  let asked = 0;
  const ask = () =>
    retry(async () => {
      const answer = answers[asked] ?? 'nothing more';
      asked += 1;
      if (answer instanceof CliError) throw answer;
      return answer;
    });
  return {ask, slept, said, asked: () => asked};
};

test('a request is repeated after the time that the node asks for, and it is said why', async t => {
  for (const code of ['rate_limited', 'unavailable', 'node_unreachable', 'http_429', 'http_503']) {
    const {ask, slept, said} = arrange(30_000, [busy(3, code), busy(5, code), 'done']);

    t.is(await ask(), 'done');
    t.deepEqual(slept, [3000, 5000]);
    t.is(said[0], `waiting 3 s, as the node asks: as scripted (${code})`);
  }
});

test('what goes beyond the budget fails at once, and the hint says how long it would take in all', async t => {
  const {ask, slept} = arrange(30_000, [busy(20), busy(11), 'done']);

  const error = await t.throwsAsync(ask(), {instanceOf: CliError});

  t.deepEqual(slept, [20_000]);
  t.is(error?.exitCode, exitCodes.unreachable);
  t.is(error?.hint, 'repeat it in 11 s, or let it wait for that: --retry-for 32s');
});

test('all of the budget may be used, and each request has its own', async t => {
  const {ask, slept} = arrange(10_000, [busy(4), busy(6), 'one', busy(10), 'two']);

  t.deepEqual([await ask(), await ask()], ['one', 'two']);
  t.deepEqual(slept, [4000, 6000, 10_000]);
});

test('the rest of a hint stays', async t => {
  const {ask} = arrange(0, [busy(5, 'unavailable', {hint: 'repeat it in 5 s; mfctl cluster status'})]);

  const error = await t.throwsAsync(ask(), {instanceOf: CliError});

  t.regex(error?.hint ?? '', /^repeat it in 5 s, .*; mfctl cluster status$/);
});

test('what waiting does not help is not waited for, whatever the budget', async t => {
  const year = 365 * 86_400_000;
  for (const error of [
    busy(undefined),
    busy(3600, 'unavailable'),
    busy(5, 'node_removed'),
    busy(5, 'outcome_unknown'),
    busy(5, 'internal'),
    busy(undefined, 'unreachable'),
  ]) {
    const {ask, asked} = arrange(year, [error, 'done']);

    t.is(await t.throwsAsync(ask()), error);
    t.is(asked(), 1);
  }
});

test('a node that asks for no time at all is given a second', async t => {
  const {ask, slept} = arrange(2000, [busy(0), 'done']);

  await ask();

  t.deepEqual(slept, [1000]);
});

const tooMany: Reply = {status: 429, headers: {'retry-after': '1'}, error: {code: 'rate_limited', detail: 'too many requests'}};

/** Refuses the first request. */
const refusingOnce = (then: Reply) => {
  let asked = 0;
  return (): Reply => {
    asked += 1;
    return asked === 1 ? tooMany : then;
  };
};

test('any method is repeated, and in a pipe that is reported with -v only', async t => {
  const api = await startApi(t, {
    'POST /domains': refusingOnce({status: 201, data: domain}),
    'GET /domains': refusingOnce({data: [domain]}),
  });
  const env = {MFCTL_RETRY_FOR: ''};

  const created = await api.mfctl(['domain', 'create', 'example.com', '--backend', 'a.example:25', '-q'], {env});
  const listed = await api.mfctl(['domain', 'list', '-v'], {env});

  t.deepEqual([created.code, listed.code], [0, 0]);
  t.is(created.stderr, '');
  t.regex(listed.stderr, /429 .*\nwaiting 1 s, as the node asks: too many requests \(rate_limited\)\nGET .* 200 /);
  t.is(api.requests.length, 4);
  t.is(api.requests[0]?.body, api.requests[1]?.body);
});

test('the flag goes before the environment, and 0s is not at all', async t => {
  const api = await startApi(t, {'GET /domains': tooMany});

  const never = await api.mfctl(['domain', 'list', '--retry-for', '0s'], {env: {MFCTL_RETRY_FOR: '1h'}});
  const wrong = await api.mfctl(['domain', 'list'], {env: {MFCTL_RETRY_FOR: 'soon'}});

  t.is(never.code, 7);
  t.is(api.requests.length, 1);
  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /MFCTL_RETRY_FOR is "soon"/);
});

(hasScript ? test : test.skip)('Ctrl-C while it waits is 130 (needs script of util-linux)', async t => {
  const {env} = await startApi(t, {'GET /domains': {...tooMany, headers: {'retry-after': '600'}}});

  const {code, output} = await runInTerminal(mfctlFile, ['domain', 'list', '--retry-for', '1h'], {
    env,
    answer: {to: 'waiting 600 s', keys: '\x03'},
  });

  t.is(code, 130);
  t.regex(output.toString(), /interrupted while waiting: the node has not done it \(interrupted\)/);
});
