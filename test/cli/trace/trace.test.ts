import test, {type ExecutionContext} from 'ava';
import type {MailEvent} from '../../../shared/mail-event.ts';
import {safeBlock} from '../../../shared/safe-text.ts';
import {me} from '../../helpers/cli/sample-answers.ts';
import {clusterStatus, domain, mailEvent, peer} from '../../helpers/cli/sample-records.ts';
import {type Received, type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const startTrace = async (t: ExecutionContext, answer: Reply, answers: Record<string, Reply> = {}) =>
  startApi(t, {
    'GET /mail/trace': answer,
    'GET /auth/me': {data: {...me, permissions: ['domains:read', 'cluster:read']}},
    'GET /domains': {data: [domain]},
    'GET /cluster/status': {data: clusterStatus([peer('mx1')])},
    ...answers,
  });

test('every filter of the API has a flag', async t => {
  const api = await startTrace(t, {data: []});

  const {code} = await api.mfctl(
    [
      ['trace', 'find', '--domain', 'example.com', '--sender', '<>', '--recipient', 'a@example.com', '--subject', 'a b&c'],
      ['--since', '2026-03-01', '--until', '2026-03-02', '--from', 'bank.test', '--address', 'ceo@bank.test', '--node', 'mx1'],
      ['--message-id', '<1@x>', '--client', '192.0.2.1', '--event', 'held,refused', '--limit', '5', '--strict'],
    ].flat(),
  );

  t.is(code, 0);
  t.deepEqual(Object.fromEntries(api.requests[0]?.query ?? []), {
    domain: 'example.com',
    sender: '<>',
    from: 'bank.test',
    address: 'ceo@bank.test',
    recipient: 'a@example.com',
    subject: 'a b&c',
    since: '2026-03-01T00:00:00.000Z',
    until: '2026-03-02T00:00:00.000Z',
    message_id: '<1@x>',
    client: '192.0.2.1',
    node: 'mx1',
    event: 'held,refused',
    limit: '5',
    strict: 'true',
  });
});

test('a list is one line per entry, however hostile its text', async t => {
  const refused = {...mailEvent, queue_id: null, subject: null, message_id: null, event: 'refused', recipient_count: 1e15};
  const api = await startTrace(t, {data: [mailEvent, refused]});

  const {stdout} = await api.mfctl(['trace', 'find']);

  const lines = stdout.trimEnd().split('\n');
  t.is(lines.length, 3);
  t.regex(lines[0] ?? '', /^AT +EVENT +MAIL +SENDER +TO +SUBJECT +REPLY$/);
  t.regex(lines[1] ?? '', /^2026-03-01T09:30:00Z +relayed +mx1\/aaaaaa +news@example\.net +a@example\.com \+1 +Win␛/);
  t.regex(lines[2] ?? '', /^2026-03-01T09:30:00Z +refused +- /);
  t.is(safeBlock(stdout), stdout);
});

test('-o name gives what trace show takes', async t => {
  const api = await startTrace(t, {data: [mailEvent, {...mailEvent, queue_id: null}]});

  t.is((await api.mfctl(['trace', 'find', '-o', 'name'])).stdout, 'mx1/aaaaaa\nhojyjfafw0-mx1\n');
});

test('wrong flags are refused before anything is asked', async t => {
  const api = await startTrace(t, {data: []});
  const wrong: [string[], RegExp][] = [
    [['--event', 'held,gone'], /Must be some of relayed, held, .*, with commas between them/],
    [['--event', ''], /Must be some of/],
    [['--address', 'bank.example'], /Must be a mail address/],
    [['--from', '*@bank.example'], /no wildcards here; for all of a domain give bank\.example/],
    [['--since', '1h', '--until', '2h'], /is not before --until .*: nothing happened then/],
    [['--limit', '1001'], /Must be 1 to 1000; --all prints everything/],
    [['--all', '--limit', '5'], /cannot be used with option/],
    [['--sort', 'nothing'], /there is no field "nothing" to sort by/],
  ];

  for (const [flags, message] of wrong) {
    const {code, stderr} = await api.mfctl(['trace', 'find', ...flags]);

    t.is(code, 2, flags.join(' '));
    t.regex(stderr, message);
  }
  t.is(api.requests.length, 0);
});

test('an empty list says whether domain and node are there', async t => {
  const api = await startTrace(t, {data: []});

  const none = await api.mfctl(['trace', 'find']);
  const noDomain = await api.mfctl(['trace', 'find', '--domain', 'nosuch.example']);
  const noNode = await api.mfctl(['trace', 'find', '--all', '--node', 'mx9']);

  t.deepEqual([none.code, none.stderr], [0, 'nothing found\n']);
  t.regex(noDomain.stderr, /there is no domain nosuch\.example/);
  t.deepEqual([noNode.code, noNode.stderr.split('\n')[0]], [5, 'error: there is no node mx9 (unknown_node)']);
});

test('a node that does not answer is named, and fails the list with --strict', async t => {
  const api = await startTrace(t, {data: [], headers: {'x-unreachable-nodes': 'mx1'}});

  for (const flags of [[], ['--all']]) {
    const {code, stderr} = await api.mfctl(['trace', 'find', '--node', 'mx1', ...flags]);
    const strict = await api.mfctl(['trace', 'find', '--strict', ...flags]);

    t.is(code, 0);
    t.is(stderr, 'what came to mx1 is not known\nwarning: the list is incomplete: mx1 did not answer\n');
    t.is(strict.code, 6);
    t.regex(strict.stderr, /error: the list is incomplete: mx1 did not answer \(partial_list\)/);
  }
});

test('a full page says that there may be more', async t => {
  const api = await startTrace(t, {data: [mailEvent, mailEvent]});

  const {stderr} = await api.mfctl(['trace', 'find', '--limit', '2', '--sort', 'score']);

  t.is(
    stderr,
    'the newest 2; there may be more: --all, or narrow it with --since and other filters\nonly these are sorted; --all sorts the whole list\n',
  );
  t.is((await api.mfctl(['trace', 'find', '--limit', '3'])).stderr, '');
});

const eventsOf = (count: number): MailEvent[] => Array.from({length: count}, (_, at) => ({...mailEvent, id: `n${at}-mx1`}));

test('--all follows the cursor to the end, and prints every entry once', async t => {
  const events = eventsOf(2500);
  const page = ({query}: Received): Reply => {
    const begin = events.findIndex(({id}) => id === query.get('cursor')) + 1;
    return {data: events.slice(begin, begin + Number(query.get('limit')))};
  };
  const api = await startApi(t, {'GET /mail/trace': page});

  const {code, stdout} = await api.mfctl(['trace', 'find', '--all', '--event', 'relayed', '-o', 'json']);

  t.is(code, 0);
  t.deepEqual(JSON.parse(stdout), events);
  t.deepEqual(
    api.requests.map(({query}) => query.get('cursor')),
    [null, 'n999-mx1', 'n1999-mx1'],
  );
  for (const {query} of api.requests) t.is(query.get('event'), 'relayed');
});

test('a list that begins again and again is given up', async t => {
  const api = await startTrace(t, {data: eventsOf(1000)});

  const {code, stderr} = await api.mfctl(['trace', 'find', '--all']);

  t.is(code, 1);
  t.regex(stderr, /begins again and again \(unexpected_answer\)/);
});

const copyOf = (node_id: string, at: string): MailEvent => ({
  ...mailEvent,
  node_id,
  at,
  id: `${at}-${node_id}`,
  queue_id: `${node_id}mail`,
});

test('a Message-ID tells the stories of all copies, the oldest first', async t => {
  const [first, second] = [copyOf('mx1', '2026-03-01T09:00:00.000Z'), copyOf('mx2', '2026-03-01T10:00:00.000Z')];
  const held: MailEvent = {...second, event: 'held', server: null};
  const released: MailEvent = {
    ...second,
    event: 'released',
    message_id: null,
    at: '2026-03-01T11:00:00.000Z',
    key_name: 'desk',
    key_id: 7,
  };
  const api = await startTrace(
    t,
    {data: [held, first], headers: {'x-unreachable-nodes': 'mx3'}},
    {'GET /mail/trace/mx1/mx1mail': {data: [first]}, 'GET /mail/trace/mx2/mx2mail': {data: [held, released]}},
  );

  const {code, stdout, stderr} = await api.mfctl(['trace', 'show', '<4711@news.example>']);
  const json = await api.mfctl(['trace', 'show', '4711@news.example', '-o', 'json']);

  t.is(code, 0);
  t.is(api.requests[0]?.query.get('message_id'), '<4711@news.example>');
  t.regex(stdout, /^2 mails have this Message-ID, the oldest is first\.\n\nID: +mx1\/mx1mail\n.*\n\nID: +mx2\/mx2mail\n/s);
  t.regex(stdout, /2026-03-01T11:00:00Z {2}released with the key desk/);
  t.is(stderr, 'warning: the list is incomplete: mx3 did not answer\n');
  t.deepEqual(JSON.parse(json.stdout), [first, held, released]);
});

test('of a copy whose node falls silent there is what was found before', async t => {
  const [first, second] = [copyOf('mx1', '2026-03-01T09:00:00.000Z'), copyOf('mx2', '2026-03-01T10:00:00.000Z')];
  const silent = {status: 503, error: {code: 'node_unreachable', detail: 'node mx2 cannot be reached'}};
  const api = await startTrace(
    t,
    {data: [second, first]},
    {'GET /mail/trace/mx1/mx1mail': {data: [first]}, 'GET /mail/trace/mx2/mx2mail': silent},
  );

  const {code, stdout, stderr} = await api.mfctl(['trace', 'show', '4711@news.example', '--retry-for', '0s']);

  t.is(code, 0);
  t.regex(stdout, /\nID: +mx2\/mx2mail\n/);
  t.regex(stderr, /the list is incomplete: mx2 did not answer/);
});

test('a Message-ID that nobody knows is not found only when all nodes have answered', async t => {
  const all = await startTrace(t, {data: []});
  const some = await startTrace(t, {data: [], headers: {'x-unreachable-nodes': 'mx3'}});

  const none = await all.mfctl(['trace', 'show', '<plain>']);
  const unknown = await some.mfctl(['trace', 'show', 'a@b']);

  t.deepEqual([none.code, unknown.code], [5, 7]);
  t.regex(none.stderr, /no mail with the Message-ID <plain> is known \(not_found\)/);
  t.regex(unknown.stderr, /is known on the nodes that answered; mx3 did not \(node_unreachable\)/);
});

test('a queue id without its node is refused with what to give', async t => {
  const api = await startTrace(t, {data: []});

  const queueId = await api.mfctl(['trace', 'show', '0VcBTnqi003w7IikL']);
  const other = await api.mfctl(['trace', 'show', 'a b']);

  t.deepEqual([queueId.code, other.code], [2, 2]);
  t.regex(queueId.stderr, /is a queue id without its node: it must be NODE\/QUEUE/);
  t.regex(other.stderr, /"a b" is neither NODE\/QUEUE nor a Message-ID/);
  t.is(api.requests.length, 0);
});

test('a mail of which nothing is known names the command that finds it', async t => {
  const error = {code: 'not_found', detail: 'nothing is known of a mail mx1/aaaaaa'};
  const api = await startTrace(t, {data: []}, {'GET /mail/trace/mx1/aaaaaa': {status: 404, error}});

  const {code, stderr} = await api.mfctl(['trace', 'show', 'mx1/aaaaaa']);

  t.is(code, 5);
  t.regex(stderr, /^error: nothing is known of a mail mx1\/aaaaaa \(not_found/);
  t.regex(stderr, /hint: mfctl trace find --recipient ADDRESS/);
});

test('events and traced mail are completed', async t => {
  const older = {...mailEvent, event: 'held', id: 'older'};
  const api = await startTrace(t, {data: [{...mailEvent, queue_id: null}, mailEvent, older]});

  const events = await api.mfctl(['__complete', '--', 'trace', 'find', '--event', 'held,dis']);
  const mails = await api.mfctl(['__complete', '--', 'trace', 'show', '']);

  t.is(events.stdout.trim(), 'held,discarded');
  t.regex(mails.stdout, /^mx1\/aaaaaa\trelayed: Win.*\n$/);
});
