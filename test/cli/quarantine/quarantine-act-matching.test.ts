import test, {type ExecutionContext} from 'ava';
import type {BulkResult, HeldMail, MailReference} from '../../../shared/held-mail.ts';
import type {FakeTerminalOptions} from '../../helpers/cli/fake-terminal.ts';
import {hostile, mail, outcome} from '../../helpers/cli/sample-records.ts';
import {type Received, type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const held = (count: number): HeldMail[] =>
  Array.from({length: count}, (_, at) => ({
    ...mail,
    queue_id: `q${String(at).padStart(6, '0')}`,
    subject: `mail ${at}`,
    arrived_at: new Date(1_772_000_000_000 - at).toISOString(),
  }));

const itemsOf = ({body}: Received): MailReference[] => JSON.parse(body).items;
const release = (request: Received): Reply => ({data: itemsOf(request).map(({queue_id}) => outcome(queue_id))});

/** Holds `mails`; `act` answers every release and discard. */
const startQuarantine = async (
  t: ExecutionContext,
  mails: HeldMail[],
  {act = release, headers = {}}: {act?: (request: Received) => Reply | Promise<Reply>; headers?: Record<string, string>} = {},
) => {
  const api = await startApi(t, {
    'GET /mail/quarantine': ({query}) => {
      const matching = mails.filter(({arrived_at}) => arrived_at < (query.get('until') ?? 'Z'));
      const offset = Number(query.get('offset') ?? 0);
      return {
        data: matching.slice(offset, offset + Number(query.get('limit'))),
        headers: {'x-total-count': String(matching.length), ...headers},
      };
    },
    'POST /mail/quarantine/release': act,
    'POST /mail/quarantine/discard': act,
  });
  const acted = () => api.requests.filter(({method}) => method === 'POST');
  const run = (args: string[], options?: FakeTerminalOptions) => api.mfctl(['quarantine', ...args], options);
  return {...api, acted, run};
};

const all = ['release', '--all-matching'];

test('all that matches is dealt with, each mail once, with the filters of the list', async t => {
  const mails = held(2300);
  const {run, acted, requests} = await startQuarantine(t, mails);

  const {code, stdout} = await run([...all, '--domain', 'example.com', '--min-score', '5', '--yes', '-o', 'ndjson']);

  t.is(code, 0);
  t.is(stdout.trimEnd().split('\n').length, 2300);
  t.deepEqual(
    acted().flatMap(itemsOf),
    mails.map(({node_id, queue_id}) => ({node_id, queue_id})),
  );
  const lists = requests.filter(({method}) => method === 'GET');
  t.is(lists.length, 3);
  for (const {query} of lists)
    t.deepEqual([query.get('domain'), query.get('min_score'), query.get('limit')], ['example.com', '5', '1000']);
});

test('what is meant is shown and asked about, on standard error', async t => {
  const {run, acted} = await startQuarantine(
    t,
    held(7).map(entry => ({...entry, subject: hostile})),
  );

  const refused = await run([...all, '--subject', 'a b'], {columns: 120, input: 'n\n', env: {NO_COLOR: '1'}});
  const silent = await run([...all, '--subject', 'a b']);
  const cancelled = acted().length;
  const agreed = await run(['discard', '--all-matching', '--subject', 'a b'], {columns: 120, input: 'y\n'});

  t.deepEqual([refused.code, silent.code, cancelled, agreed.code], [3, 2, 0, 0]);
  t.regex(
    refused.stderr,
    /^7 held mails match --subject 'a b':\n\nID +ARRIVED .*\n(mx1\/q00000[0-4] .*\n){5}and 2 more\n\n.*Release these 7 mails\? \[y\/N\] /,
  );
  t.false(refused.stderr.includes('\x1b]0;'));
  t.is(refused.stdout, '');
  t.regex(silent.stderr, /no terminal to answer on.*\nhint: repeat with --yes/);
  t.regex(agreed.stderr, /Discard these 7 mails for good\? \[y\/N\] /);
  t.regex(agreed.stderr, /7 mails discarded\n$/);
  t.is(agreed.stdout, '', 'a terminal is not flooded');
});

test('a dry run prints what is meant, and changes nothing', async t => {
  const {run, acted} = await startQuarantine(t, held(3));

  const byFilter = await run([...all, '--dry-run', '-o', 'json']);
  const names = await run([...all, '--dry-run', '-o', 'name']);
  const byId = await run(['discard', 'mx1/aaaaaa', 'mx1/bbbbbb', '--dry-run']);

  t.deepEqual([byFilter.code, names.code, byId.code], [0, 0, 0]);
  t.deepEqual(JSON.parse(byFilter.stdout), held(3));
  t.regex(byFilter.stderr, /a dry run: nothing was changed/);
  t.is(names.stdout, 'mx1/q000000\nmx1/q000001\nmx1/q000002\n');
  t.is(byId.stdout, 'ID\nmx1/aaaaaa\nmx1/bbbbbb\n');
  t.is(acted().length, 0);
});

test('without a filter it says that this is all held mail', async t => {
  const mails = held(2);
  const {run, acted} = await startQuarantine(t, mails);

  const asked = await run(['discard', '--all-matching'], {columns: 100, input: 'n\n'});
  mails.splice(0);
  const none = await run(['discard', '--all-matching', '--yes']);

  t.regex(asked.stderr, /^2 held mails without a filter: this is ALL held mail:\n/);
  t.is(none.stderr, 'no held mail\n');
  t.is(acted().length, 0);
});

test('another number than the one expected stops it before anything is done, by filter and by id', async t => {
  const {run, acted} = await startQuarantine(t, held(3));

  const more = await run([...all, '--expect-count', '2', '--yes']);
  const byId = await run(['release', 'mx1/aaaaaa', 'mx1/aaaaaa', '--expect-count', '2', '-o', 'json']);
  t.is(acted().length, 0);
  const exact = await run([...all, '--expect-count', '3', '--yes']);

  t.is(more.code, 1);
  t.regex(more.stderr, /error: 3 held mails match and not 2: nothing was done \(unexpected_count\)/);
  t.is(byId.code, 1);
  t.like(JSON.parse(byId.stderr).error, {code: 'unexpected_count', exit_code: 1});
  t.is(exact.code, 0);
  t.is(acted().length, 1);
});

test('no match is said, and is no failure unless some were expected', async t => {
  const {run, acted} = await startQuarantine(t, []);

  const none = await run([...all, '--domain', 'example.com']);
  const json = await run([...all, '--yes', '-o', 'json']);
  const expected = await run([...all, '--expect-count', '1']);

  t.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'no held mail matches --domain example.com\n']);
  t.deepEqual([json.code, json.stdout], [0, '[]\n']);
  t.is(expected.code, 1);
  t.is(acted().length, 0);
});

test('ids and filters together, filters alone and nothing at all are wrong usage that says what to type', async t => {
  const {run, requests} = await startQuarantine(t, held(3));

  const runs = await Promise.all(
    [
      ['release', 'mx1/aaaaaa', '--all-matching'],
      ['release', 'mx1/aaaaaa', '--domain', 'example.com'],
      ['discard', '--domain', 'example.com'],
      ['discard', '--strict'],
      ['discard'],
    ].map(argv => run(argv)),
  );

  for (const {code, stderr} of runs) {
    t.is(code, 2);
    t.regex(stderr, /--all-matching.*\nhint: mfctl quarantine (release|discard) --help\n$/);
  }
  t.is(requests.length, 0);
});

test('a partial list is said in the question, warned of with --yes, and refused under --strict', async t => {
  const headers = {'x-unreachable-nodes': 'mx2'};
  const {run, acted} = await startQuarantine(t, held(2), {headers});

  const asked = await run(all, {columns: 100, input: 'n\n'});
  const strict = await run([...all, '--yes', '--strict']);
  t.is(acted().length, 0);
  const agreed = await run([...all, '--yes']);

  t.regex(asked.stderr, /Release these 2 mails, without those of mx2, which did not answer\?/);
  t.is(strict.code, 6);
  t.is(agreed.code, 0);
  t.regex(agreed.stderr, /warning: the list is incomplete: mx2 did not answer/);
});

test('a strict list that the node refuses exits 6, and nothing is done', async t => {
  const error = {code: 'node_unreachable', detail: 'mx2 did not answer'};
  const api = await startApi(t, {'GET /mail/quarantine': {status: 503, error}});

  const {code} = await api.mfctl(['quarantine', 'discard', '--all-matching', '--strict', '--yes']);

  t.is(code, 6);
  t.is(api.requests[0]?.query.get('strict'), 'true');
});

test('what failed is listed and exits 6; what somebody else had done is no failure', async t => {
  const results: BulkResult[] = [
    {...outcome('q000000'), already: true},
    {
      node_id: 'mx1',
      queue_id: 'q000001',
      error: {code: 'delivery_failed', detail: 'refused', fields: [{path: 'a@b.example', detail: '550 no'}]},
    },
    outcome('q000002'),
  ];
  const {run} = await startQuarantine(t, held(3), {act: () => ({data: results})});
  const others = await startQuarantine(t, held(1), {act: () => ({data: results.slice(0, 1)})});

  const terminal = await run([...all, '--yes'], {columns: 100});
  const json = await run([...all, '--yes', '-o', 'json']);
  const already = await others.run([...all, '--yes'], {columns: 100});

  t.is(terminal.code, 6);
  t.regex(
    terminal.stderr,
    /warning: mx1\/q000001: refused \(delivery_failed\); a@b\.example: 550 no\n2 mails released, 1 of them before this\n.*1 of 3 mails could not be released/s,
  );
  t.is(json.code, 6);
  t.deepEqual(JSON.parse(json.stdout), results);
  t.is(already.code, 0);
  t.regex(already.stderr, /1 mail released, 1 of them before this\n$/);
});

test('Ctrl-C says how much was done and exits 130, whether it counts, acts or waits', async t => {
  const interrupts = new EventTarget();
  const interrupt = () => interrupts.dispatchEvent(new Event('interrupt'));
  let requests = 0;
  const acting = await startQuarantine(t, held(1000), {
    act: request => {
      requests += 1;
      if (requests === 2) interrupt();
      return release(request);
    },
  });
  const waiting = await startQuarantine(t, held(1000), {
    act: () => {
      interrupt();
      interrupt();
      return {isHeld: true};
    },
  });
  const counting = await startApi(t, {
    'GET /mail/quarantine': () => {
      interrupt();
      return {isHeld: true};
    },
  });

  const acted = await acting.run([...all, '--yes', '-o', 'ndjson'], {interrupts});
  const abandoned = await waiting.run([...all, '--yes'], {interrupts});
  const counted = await counting.mfctl(['quarantine', ...all, '--yes'], {interrupts});

  t.deepEqual([acted.code, abandoned.code, counted.code], [130, 130, 130]);
  t.is(acting.acted().length, 2);
  const done = acting.acted().flatMap(itemsOf).length;
  t.is(acted.stdout.trimEnd().split('\n').length, done);
  t.true(acted.stderr.includes(`"detail":"${done} of 1,000 mails were released"`), acted.stderr);
  t.regex(abandoned.stderr, /0 of 1,000 mails were released, and of 100 it is not known \(interrupted\)/);
  t.regex(counted.stderr, /nothing was changed \(interrupted\)/);
});
