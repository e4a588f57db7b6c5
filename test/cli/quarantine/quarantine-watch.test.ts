import type {ServerResponse} from 'node:http';
import test, {type ExecutionContext} from 'ava';
import type {ClusterEvent} from '../../../shared/cluster-event.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {discardedEvent, hostile, mail, outcome} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';
import {eventually} from '../../helpers/eventually.ts';

const heldAt = (queue_id: string, arrived_at: string): HeldMail => ({...mail, queue_id, arrived_at, subject: queue_id});
const old = heldAt('oldold', '2026-03-01T09:00:00.000Z');
const fresh = heldAt('fresh1', '2026-03-01T10:00:00.000Z');
const released = {...outcome('fresh1'), type: 'released', at: '2026-03-01T10:05:00.000Z'} as const;

const framed = (event: ClusterEvent) => `data: ${JSON.stringify(event)}\n\n`;
const heldEventOf = (held: HeldMail): ClusterEvent => ({type: 'held', at: held.arrived_at, ...held});

/** A quarantine that holds the mails in `mails`, and publishes the events given to `tell`. */
const startQuarantine = async (t: ExecutionContext, overrides: Record<string, Reply | (() => Reply)> = {}) => {
  const mails: HeldMail[] = [old];
  const streams: ServerResponse[] = [];
  let isOpen = () => {};
  const opened = new Promise<void>(resolve => {
    isOpen = resolve;
  });
  const api = await startApi(t, {
    'GET /mail/quarantine': ({query}) => ({
      data: mails
        .filter(({arrived_at}) => arrived_at >= (query.get('since') ?? '') && arrived_at < (query.get('until') ?? 'Z'))
        .toReversed(),
    }),
    'GET /events': {
      headers: {'content-type': 'text/event-stream'},
      stream: response => {
        streams.push(response);
        response.write(': hello\n\n');
        isOpen();
      },
    },
    ...overrides,
  });
  const tell = (event: ClusterEvent) => {
    for (const stream of streams) stream.write(framed(event));
  };
  const arrive = (held: HeldMail) => {
    mails.push(held);
    tell(heldEventOf(held));
  };
  return {...api, mails, opened, tell, arrive, streams};
};

const parsed = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));

test('what is held comes first, then what arrives, then what becomes of it', async t => {
  const {mfctl, opened, arrive, tell, requests} = await startQuarantine(t);

  const running = mfctl(['quarantine', 'watch', '--limit', '3', '--domain', 'example.com'], {columns: 150, env: {NO_COLOR: '1'}});
  await opened;
  tell(discardedEvent);
  tell(released);
  arrive(fresh);
  const {code, stdout, stderr} = await running;

  t.is(code, 0);
  t.is(stderr, '');
  const [header = '', ...lines] = stdout.trimEnd().split('\n');
  t.regex(header, /^AT +EVENT +ID +SCORE +REASON +SENDER +TO +SUBJECT$/);
  t.regex(lines[0] ?? '', /^2026-03-01T09:00:00Z {2}held {7}mx1\/oldold +12\.5 {2}spam +<> +a@example\.com \+1 +oldold$/);
  t.regex(lines[1] ?? '', /^2026-03-01T10:00:00Z {2}held {7}mx1\/fresh1 /);
  t.regex(lines[2] ?? '', /^2026-03-01T10:05:00Z {2}released {3}mx1\/fresh1 .* by key 7$/);
  t.is(lines.length, 3, 'nothing of mail that was not shown');
  const lists = requests.filter(({path}) => path === '/mail/quarantine');
  t.true(lists.every(({query}) => query.get('domain') === 'example.com'));
});

test('a pipe gets objects, of mail as the list has it, however hostile it is', async t => {
  const {mfctl, mails} = await startQuarantine(t);
  mails.push({...fresh, subject: hostile});

  const {stdout} = await mfctl(['quarantine', 'watch', '--limit', '2', '--last', '2']);

  t.deepEqual(parsed(stdout), [heldEventOf(old), heldEventOf({...fresh, subject: hostile})]);
  t.notRegex(stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]/);
});

test('--last 0 shows what arrives alone', async t => {
  const {mfctl, opened, arrive} = await startQuarantine(t);

  const running = mfctl(['quarantine', 'watch', '--limit', '1', '--last', '0']);
  await opened;
  arrive(fresh);

  t.deepEqual(parsed((await running).stdout), [heldEventOf(fresh)]);
});

test('what the filter leaves out is not shown, as the node decides', async t => {
  const {mfctl, opened, arrive, tell} = await startQuarantine(t);

  const running = mfctl(['quarantine', 'watch', '--limit', '2', '--subject', 'fresh']);
  await opened;
  tell(heldEventOf(heldAt('other1', '2026-03-01T09:59:00.000Z')));
  arrive(fresh);

  t.deepEqual(
    parsed((await running).stdout).map(({queue_id}) => queue_id),
    ['oldold', 'fresh1'],
  );
});

test('without events the list is asked for again and again, and that is said once', async t => {
  const error = {code: 'not_found', detail: 'there is no such path'};
  let answers = 0;
  const {mfctl, mails} = await startQuarantine(t, {
    'GET /events': {status: 404, error},
    'GET /mail/quarantine': () => {
      answers += 1;
      if (answers === 4) mails.push(fresh);
      return {data: mails.toReversed()};
    },
  });

  const {code, stdout, stderr} = await mfctl(['quarantine', 'watch', '--limit', '2']);

  t.is(code, 0);
  t.deepEqual(
    parsed(stdout).map(({queue_id}) => queue_id),
    ['oldold', 'fresh1'],
  );
  t.is(
    stderr,
    'warning: events cannot be followed (there is no such path): the list is polled every few seconds, which does not show who acts\n',
  );
});

test('nodes that do not answer are named once, and so is their return', async t => {
  const unreachable = [[], ['mx2'], ['mx2'], []];
  const {mfctl, tell, opened, mails} = await startQuarantine(t, {
    'GET /mail/quarantine': () => {
      const missing = unreachable.shift() ?? [];
      if (unreachable.length === 0) mails.push(fresh);
      // Every mail event triggers one more request.
      else setTimeout(() => tell(heldEventOf(heldAt('other1', '2026-03-01T09:59:00.000Z'))), 100);
      return {data: mails.toReversed(), headers: {'x-unreachable-nodes': missing.join(', ')}};
    },
  });

  const running = mfctl(['quarantine', 'watch', '--limit', '2']);
  await opened;
  const {stderr} = await running;

  t.is(stderr, 'warning: the list is incomplete: mx2 did not answer\nthe list is complete again\n');
});

test('a node that goes away is asked until it is back', async t => {
  const {mfctl, mails} = await startQuarantine(t, {
    'GET /events': {status: 404, error: {code: 'not_found', detail: 'no events'}},
    'GET /mail/quarantine': () => answers.shift()?.() ?? {data: [fresh, old]},
  });
  const answers: (() => Reply)[] = [
    () => ({data: mails}),
    () => ({data: mails}),
    () => ({status: 503, headers: {'retry-after': '1'}, error: {code: 'unavailable', detail: 'the node is stopping'}}),
    () => ({status: 503, error: {code: 'unavailable', detail: 'the node is stopping'}}),
  ];

  const {code, stdout, stderr} = await mfctl(['quarantine', 'watch', '--limit', '2']);

  t.is(code, 0);
  t.is(parsed(stdout).length, 2);
  t.regex(
    stderr,
    /^warning: no answer since \S+Z: the node is stopping; retrying\nanswers again at \S+Z; what arrived in between follows\n/,
  );
});

test('a node that never answers, a key that may not and a filter that is wrong end it', async t => {
  const {mfctl} = await startQuarantine(t, {
    'GET /mail/quarantine': {status: 403, error: {code: 'insufficient_scope', detail: 'not with this key'}},
  });

  t.is((await mfctl(['quarantine', 'watch', '--url', 'https://127.0.0.1:1'])).code, 7);
  t.is((await mfctl(['quarantine', 'watch'])).code, 4);
  t.is((await mfctl(['quarantine', 'watch', '--reason', 'x'])).code, 2);
  t.is((await mfctl(['quarantine', 'watch', '--last', '1001'])).code, 2);
});

test('Ctrl-C ends it with 130, a time with 0', async t => {
  const interrupts = new EventTarget();
  const {mfctl, opened} = await startQuarantine(t);

  const running = mfctl(['quarantine', 'watch'], {interrupts});
  await opened;
  interrupts.dispatchEvent(new Event('interrupt'));

  t.is((await running).code, 130);
  t.is((await mfctl(['quarantine', 'watch', '--for', '2s'])).code, 0);
});

test('after a broken link it goes on after the last event, and a gap has the list read again', async t => {
  let count = 0;
  const streams: ServerResponse[] = [];
  const {mfctl, mails, requests} = await startQuarantine(t, {
    'GET /events': () => ({
      headers: {'content-type': 'text/event-stream'},
      stream: response => {
        count += 1;
        streams.push(response);
        if (count === 1) response.end(`id: W1first\n\n`);
        else response.write(`id: W1second\ndata: ${JSON.stringify({...released, queue_id: old.queue_id})}\n\n`);
      },
    }),
  });

  const running = mfctl(['quarantine', 'watch', '--limit', '3']);
  await eventually(() => count === 2);
  mails.push(fresh);
  streams[1]?.write(`id: W1third\ndata: ${JSON.stringify({type: 'gap', at: released.at, node_id: 'mx1'})}\n\n`);
  const {code, stdout} = await running;

  t.is(code, 0);
  t.deepEqual(
    parsed(stdout)
      .map(({type, queue_id}) => `${type} ${queue_id}`)
      .sort(),
    [`held ${fresh.queue_id}`, `held ${old.queue_id}`, `released ${old.queue_id}`],
  );
  const asked = requests.filter(({path}) => path === '/events').map(({headers}) => headers['last-event-id']);
  t.deepEqual(asked, [undefined, 'W1first']);
});
