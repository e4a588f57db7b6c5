import type {ServerResponse} from 'node:http';
import test from 'ava';
import type {ClusterEvent} from '../../../shared/cluster-event.ts';
import {discardedEvent, healthEvent, heldEvent, releasedEvent} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';
import {eventually} from '../../helpers/eventually.ts';
import {mfctlFile, run as runProgram} from '../../helpers/program.ts';

const changed: ClusterEvent[] = [
  {type: 'domain', at: healthEvent.at, node_id: 'mx1', id: 7, name: 'example.com', change: 'updated'},
  {type: 'key', at: healthEvent.at, node_id: 'mx1', id: 8, name: 'monitoring', change: 'revoked'},
];

const told = (events: ClusterEvent[], end: (response: ServerResponse) => void = () => {}): Reply => ({
  headers: {'content-type': 'text/event-stream'},
  stream: response => {
    response.write(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''));
    end(response);
  },
});

test('a terminal gets a line for each event, and the end at the limit', async t => {
  const api = await startApi(t, {'GET /events': told([heldEvent, releasedEvent, discardedEvent, healthEvent, ...changed])});

  const {code, stdout, stderr} = await api.mfctl(['events', '--limit', '6'], {columns: 140, env: {NO_COLOR: '1'}});

  t.is(code, 0);
  t.is(stderr, '');
  const lines = stdout.split('\n');
  t.regex(lines[0] ?? '', /^AT +NODE +EVENT +ABOUT$/);
  t.regex(
    lines[1] ?? '',
    /^2026-03-01T09:30:01Z {2}mx1 {9}held {7}mx1\/aaaaaa 12\.5 spam from <> to a@example\.com \+1: Win␛\]0;owned/,
  );
  t.is(lines[2], '2026-03-01T10:00:01Z  mx1         released   mx1/aaaaaa by key 7');
  t.is(lines[3], '2026-03-01T10:00:02Z  mx1         discarded  mx1/bbbbbb by key 7');
  t.is(lines[4], '2026-03-01T11:00:00Z  mx2         health     online -> stale');
  t.is(lines[5], '2026-03-01T11:00:00Z  mx1         domain     updated 7 example.com');
  t.is(lines[6], '2026-03-01T11:00:00Z  mx1         key        revoked 8 monitoring');
});

test('a pipe gets each event as the node tells it, on a line of its own', async t => {
  const api = await startApi(t, {'GET /events': told([heldEvent, healthEvent])});

  const {stdout} = await api.mfctl(['events', '--type', 'health,held', '--limit', '2']);
  const asked = await api.mfctl(['events', '--limit', '2', '-o', 'json'], {columns: 80});

  t.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
    [heldEvent, healthEvent],
  );
  t.is(asked.stdout, stdout);
  t.is(api.requests[0]?.query.get('type'), 'held,health');
});

test('a wait for a number of events that takes too long differs from one that succeeds', async t => {
  const api = await startApi(t, {'GET /events': told([healthEvent])});

  const enough = await api.mfctl(['events', '--limit', '1', '--for', '30s']);
  const tooFew = await api.mfctl(['events', '--limit', '2', '--for', '1s']);

  t.deepEqual([enough.code, enough.stderr], [0, '']);
  t.is(tooFew.code, 3);
  t.regex(tooFew.stderr, /timed_out/);
  t.is(tooFew.stdout, enough.stdout);
});

test('it ends with 0 after --for, and with 130 at Ctrl-C', async t => {
  const interrupts = new EventTarget();
  const api = await startApi(t, {'GET /events': told([healthEvent], () => interrupts.dispatchEvent(new Event('interrupt')))});

  const timed = await api.mfctl(['events', '--for', '3s']);
  const interrupted = await api.mfctl(['events'], {interrupts});

  t.deepEqual([timed.code, timed.stderr, JSON.parse(timed.stdout)], [0, '', healthEvent]);
  t.deepEqual([interrupted.code, interrupted.stderr], [130, '']);
});

test('a node that was never reached, or refuses, ends it with the reason', async t => {
  const error = {code: 'insufficient_scope', detail: 'the scope does not permit events of type key; leave it out'};
  const api = await startApi(t, {'GET /events': {status: 403, error}});

  const absent = await api.mfctl(['events', '--url', 'https://127.0.0.1:1']);
  const refused = await api.mfctl(['events', '--type', 'key']);

  t.deepEqual([absent.code, refused.code], [7, 4]);
  t.regex(absent.stderr, /^error: .*\(unreachable\)/);
  t.regex(refused.stderr, /leave it out \(insufficient_scope/);
});

test('a node that goes away is followed on, and said so once', async t => {
  const answers: Reply[] = [
    told([healthEvent], response => response.end()),
    {status: 503, error: {code: 'unavailable', detail: 'the node is stopping'}},
    told([discardedEvent]),
  ];
  const api = await startApi(t, {'GET /events': () => answers.shift() ?? {}});

  const {code, stdout, stderr} = await api.mfctl(['events', '--limit', '2']);

  t.is(code, 0);
  t.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).type),
    ['health', 'discarded'],
  );
  t.regex(
    stderr,
    /^warning: no answer since \S+Z: the node has ended the connection; retrying\nanswers again at \S+Z; what happened in between is not shown\n$/,
  );
});

test('a type that is none, and a limit or a time of nothing, are wrong usage', async t => {
  const api = await startApi(t, {});

  for (const argv of [
    ['--type', 'held,x'],
    ['--limit', '0'],
    ['--for', '0s'],
    ['--for', '10'],
  ])
    t.is((await api.mfctl(['events', ...argv])).code, 2, argv.join(' '));
  t.is(api.requests.length, 0);
});

test('the program itself ends with 130 at Ctrl-C, and with 0 when nobody reads on', async t => {
  const api = await startApi(t, {'GET /events': told([healthEvent])});

  const interrupted = await runProgram(mfctlFile, ['events'], {
    env: api.env,
    onStart: child => child.stdout?.once('data', () => child.kill('SIGINT')),
  });
  const responses: ServerResponse[] = [];
  const busy = await startApi(t, {'GET /events': told([healthEvent], response => responses.push(response))});
  const unread = runProgram(mfctlFile, ['events'], {
    env: busy.env,
    onStart: child => child.stdout?.once('data', () => child.stdout?.destroy()),
  });
  let isOver = false;
  void unread.then(() => {
    isOver = true;
  });
  await eventually(() => {
    for (const response of responses) response.write(`data: ${JSON.stringify(healthEvent)}\n\n`);
    return isOver;
  });

  t.deepEqual([interrupted.code, interrupted.stderr], [130, '']);
  t.deepEqual(await unread.then(({code, stderr}) => [code, stderr]), [0, '']);
});
