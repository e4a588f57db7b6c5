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

const id = 'W1sibXgxIiwiMDEyMzQ1Njc4OWFiY2RlZi4wLjEiXV0';
const withId = (event: object, one = id) => `id: ${one}\ndata: ${JSON.stringify(event)}\n\n`;

/** Sends these texts, one a connection, and ends each connection but the last. */
const connections = (...texts: string[]): Reply => ({
  headers: {'content-type': 'text/event-stream'},
  stream: response => {
    response.write(texts.shift() ?? '');
    if (texts.length > 0) response.end();
  },
});

test('a broken link goes on after the last event, and what is not repeated is said', async t => {
  const api = await startApi(t, {'GET /events': connections(withId(heldEvent), withId(releasedEvent))});
  const mail = await api.mfctl(['events', '--limit', '2', '--type', 'held,released']);
  const mixed = await startApi(t, {'GET /events': connections(withId(heldEvent), withId(healthEvent))});
  const all = await mixed.mfctl(['events', '--limit', '2']);
  const earlier = await startApi(t, {'GET /events': connections(withId(heldEvent, 'mx1-m3x9k2-17'), withId(heldEvent))});
  const old = await earlier.mfctl(['events', '--limit', '2', '--type', 'held']);

  t.deepEqual(
    api.requests.map(({headers}) => headers['last-event-id']),
    [undefined, id],
  );
  t.regex(mail.stderr, /answers again at \S+; what happened in between follows\n/);
  t.regex(all.stderr, /what happened to mail in between follows, the rest is not shown\n/);
  t.deepEqual(
    earlier.requests.map(({headers}) => headers['last-event-id']),
    [undefined, undefined],
  );
  t.regex(old.stderr, /what happened in between is not shown\n/);
});

test('--after takes a time or the place where a command ended, and says where this one ends', async t => {
  const api = await startApi(t, {'GET /events': connections(withId(heldEvent))});

  const since = await api.mfctl(['events', '--after', '2026-03-01T09:00:00Z', '--limit', '1']);
  const again = await api.mfctl(['events', '--after', id, '--for', '1s']);
  const wrong = await api.mfctl(['events', '--after', 'soon']);

  t.deepEqual(
    api.requests.map(({query}) => query.get('after')),
    ['2026-03-01T09:00:00.000Z', id],
  );
  t.is(since.stderr, `to go on from here: --after ${id}\n`);
  t.is(again.stderr, '');
  t.like(wrong, {code: 2});
  t.regex(wrong.stderr, /Must be a time such as/);
});

test('what is in the event log only is a line too, and so is a gap, which is not counted', async t => {
  const at = healthEvent.at;
  const relayed = {
    type: 'relayed',
    event: 'relayed',
    at,
    node_id: 'mx1',
    queue_id: 'cccccc',
    sender: 'a@b.test',
    recipients: ['c@d.test'],
  };
  const refused = {...relayed, type: 'refused', event: 'refused', queue_id: null, reply: '550 no such user\u001b[2J'};
  const events = [
    {type: 'gap', at, node_id: 'mx2'},
    {...relayed, reply: '250 ok', detail: ''},
    {...refused, detail: ''},
  ];
  const api = await startApi(t, {'GET /events': connections(events.map(event => withId(event)).join(''))});

  const {stdout} = await api.mfctl(['events', '--type', 'relayed,refused', '--limit', '2'], {columns: 140, env: {NO_COLOR: '1'}});

  const lines = stdout.trimEnd().split('\n').slice(1);
  t.regex(lines[0] ?? '', / mx2 +gap +events of mail on mx2 may be missing here$/);
  t.regex(lines[1] ?? '', / mx1 +relayed +mx1\/cccccc from a@b\.test to c@d\.test: 250 ok$/);
  t.regex(lines[2] ?? '', / mx1 +refused +- from a@b\.test to c@d\.test: 550 no such user␛\[2J$/);
  t.is(api.requests[0]?.query.get('type'), 'relayed,refused');
});
