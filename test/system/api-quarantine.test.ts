import {setTimeout as sleep} from 'node:timers/promises';
import test from 'ava';
import type {HeldMail, MailReference} from '../../shared/held-mail.ts';
import {pathsOf} from '../helpers/api-call.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

const list = async (query: string) => node().api('GET', `mail/quarantine?${query}`);
const pathOf = ({node_id, queue_id}: MailReference) => `mail/quarantine/${node_id}/${queue_id}`;

/** Holds mails of a separate domain, so that tests do not see each other's. Oldest first. */
const holdSome = async (
  mails: {from?: string; user?: string | string[]; subject?: string; score?: number; headers?: string}[],
) => {
  const {name} = await node().createDomain({reject_threshold: 100});
  const held: MailReference[] = [];
  for (const {user = 'user', ...mail} of mails) {
    held.push(await node().hold({...mail, to: [user].flat().map(each => `${each}@${name}`)}));
    await sleep(2);
  }
  return {name, held};
};

test('an entry of the list tells all the specification names', async t => {
  const startedAt = Date.now();
  const {name, held} = await holdSome([
    {
      from: 'Bob@outside.test',
      user: ['Ann', 'ben'],
      subject: '=?utf-8?q?Gr=C3=BC=C3=9Fe?=',
      headers:
        'From: "Your bank" <CEO@Bank.test>\r\nX-Spamd-Result: default: True [9.50 / 15.00]; URIBL_BLACK(7.50)[x.test]; MANY(2.00)\r\n',
    },
  ]);

  const {status, json, headers} = await list(`domain=${name}`);

  t.is(status, 200);
  t.is(headers['x-total-count'], '1');
  const {arrived_at, size_bytes, ...rest} = json.data[0];
  t.deepEqual(rest, {
    ...held[0],
    sender: 'Bob@outside.test',
    from: ['ceo@bank.test'],
    recipients: [`Ann@${name}`, `ben@${name}`],
    subject: 'Grüße',
    score: 9.5,
    symbols: ['URIBL_BLACK', 'MANY'],
    reason: 'rbl',
    release_requested: false,
  });
  t.true(Date.parse(arrived_at) >= startedAt - 1 && Date.parse(arrived_at) <= Date.now());
  t.is(size_bytes, (await node().api('GET', `${pathOf(json.data[0])}/body`)).body.length);
});

test('the list is newest first and its pages, followed by their links, are the whole of it', async t => {
  const {name, held} = await holdSome(Array.from({length: 7}, (_, at) => ({subject: `mail ${at}`})));
  const newestFirst = held.map(({queue_id}) => queue_id).reverse();
  const linkOf = (link: unknown, relation: string) =>
    new RegExp(`<([^>]+)>; rel="${relation}"`).exec(String(link))?.[1]?.replace('/api/v1/', '');

  const seen: string[][] = [];
  let path: string | undefined = `mail/quarantine?limit=3&domain=${name}`;
  let lastLink: unknown;
  while (path !== undefined) {
    const {json, headers} = await node().api('GET', path);
    t.is(headers['x-total-count'], '7');
    seen.push(json.data.map(({queue_id}: HeldMail) => queue_id));
    lastLink = headers.link;
    path = linkOf(lastLink, 'next');
  }

  t.deepEqual(seen, [newestFirst.slice(0, 3), newestFirst.slice(3, 6), newestFirst.slice(6)]);
  const previous = await node().api('GET', linkOf(lastLink, 'prev') ?? '');
  t.deepEqual(
    previous.json.data.map(({queue_id}: HeldMail) => queue_id),
    seen[1],
  );
  const first = await node().api('GET', linkOf(lastLink, 'first') ?? '');
  t.deepEqual(
    first.json.data.map(({queue_id}: HeldMail) => queue_id),
    seen[0],
  );
  t.is(linkOf(first.headers.link, 'prev'), undefined);

  const beyond = await list(`domain=${name}&offset=1000000000`);
  t.deepEqual(beyond.json.data, []);
  t.is(beyond.headers['x-total-count'], '7');
});

test('every filter narrows the list, the count and the summary alike', async t => {
  const {name, held} = await holdSome([
    {from: 'a@one.test', user: 'Ann', subject: '100% off_now', score: 6},
    {from: 'b@one.test', headers: 'From: "Bank" <ceo@bank.test>\r\n', user: ['ben', 'cid'], subject: '100x off now', score: 7.5},
    {
      from: 'a@two.test',
      user: 'cid',
      subject: 'ÄRGER back\\slash',
      score: 9.25,
      headers: 'From: x@other.test, Info@bank.test\r\nX-Spamd-Result: default: True [9.25 / 15.00]; PHISHING(9.25)\r\n',
    },
    {from: '', headers: 'From: CEO@bank.test\r\n', user: 'ben', subject: 'quote \' and " here', score: 12},
  ]);
  const arrived = (await list(`domain=${name}`)).json.data.map(({arrived_at}: HeldMail) => arrived_at).reverse();
  const at = (index: number) => encodeURIComponent(arrived[index]);
  const offsetForm = encodeURIComponent(new Date(Date.parse(arrived[1]) + 7_200_000).toISOString().replace('Z', '+02:00'));
  const filters: [string, number[]][] = [
    ['', [0, 1, 2, 3]],
    ['sender=a@one.test', [0]],
    ['sender=A@ONE.TEST', [0]],
    ['sender=one.test', [0, 1]],
    ['sender=@one.test', [0, 1]],
    ['sender=<>', [3]],
    ['sender=none.test', []],
    ['from=bank.test', [1, 2, 3]],
    ['from=CEO@Bank.Test', [1, 3]],
    ['from=@bank.test&sender=one.test', [1]],
    ['from=a@one.test', []],
    ['address=ceo@bank.test', [1, 3]],
    ['address=a@one.test', [0]],
    [`address=cid@${name}`, [1, 2]],
    [`since=${at(1)}`, [1, 2, 3]],
    [`since=${offsetForm}`, [1, 2, 3]],
    [`until=${at(1)}`, [0]],
    [`since=${at(1)}&until=${at(3)}`, [1, 2]],
    [`since=${at(3)}&until=${at(0)}`, []],
    ['min_score=7.5', [1, 2, 3]],
    ['max_score=7.5', [0, 1]],
    ['min_score=7.51&max_score=9.25', [2]],
    ['min_score=-5', [0, 1, 2, 3]],
    ['min_score=7.4999999999999996', [1, 2, 3]],
    ['reason=phishing', [2]],
    ['reason=sandbox', []],
    [`node=${node().node_id}`, [0, 1, 2, 3]],
    ['node=elsewhere', []],
    [`recipient=ann@${name}`, [0]],
    [`recipient=CID@${name.toUpperCase()}`, [1, 2]],
    ['subject=%25', [0]],
    ['subject=100%25', [0]],
    ['subject=_', [0]],
    ['subject=OFF', [0, 1]],
    ['subject=%C3%A4rger', [2]],
    ['subject=%5C', [2]],
    ['subject=%27', [3]],
    ['subject=%22+here', [3]],
    ['subject=100%25+off&sender=one.test&min_score=6&reason=spam', [0]],
  ];
  const idsOf = (mails: MailReference[]) => mails.map(({queue_id}) => queue_id).sort();

  for (const [filter, expected] of filters) {
    const {status, json, headers} = await list(`domain=${name}&${filter}`);
    t.is(status, 200, filter);
    t.deepEqual(idsOf(json.data), idsOf(expected.flatMap(index => held[index] ?? [])), filter);
    t.is(headers['x-total-count'], String(expected.length), filter);
    const summary = await node().api('GET', `mail/quarantine/summary?domain=${name}&${filter}`);
    t.is(summary.json.data.count, expected.length, `summary ${filter}`);
  }
});

test('mail of senders that have no domain of their own is found by their address', async t => {
  const senders = ['root@localhost', 'cron@[192.0.2.1]'];
  const {name} = await holdSome(senders.map(from => ({from})));

  for (const sender of senders) {
    const {json} = await list(`domain=${name}&sender=${encodeURIComponent(sender.toUpperCase())}`);
    t.deepEqual(
      json.data.map((mail: HeldMail) => mail.sender),
      [sender],
    );
  }
});

test('a wrong parameter is named, whether it is unknown, doubled, or has no such value', async t => {
  const wrong: [string, string][] = [
    ...['0', '1001', 'abc', '', '-1', '1.5', '1e2', '0x10', '99999999999999999999', '%00'].map(
      value => [`limit=${value}`, 'limit'] as [string, string],
    ),
    ...['-1', 'x', '1000000001'].map(value => [`offset=${value}`, 'offset'] as [string, string]),
    ...['', 'nodot', 'a..b', '%27', 'a@b.test'].map(value => [`domain=${value}`, 'domain'] as [string, string]),
    ...['', 'nobody', 'a b@c.test', '@'].map(value => [`sender=${value}`, 'sender'] as [string, string]),
    ...['', 'nobody', '<>'].map(value => [`from=${value}`, 'from'] as [string, string]),
    ...['', 'nobody', 'a.test', '<>'].map(value => [`address=${value}`, 'address'] as [string, string]),
    ...['yesterday', '2026-02-30T00:00:00Z', '2026-01-01', '1767225600', '9999-12-31T23:59:59-01:00'].map(
      value => [`since=${value}`, 'since'] as [string, string],
    ),
    ...['', 'high', 'NaN', 'Infinity', '1e3', '6,5'].map(value => [`min_score=${value}`, 'min_score'] as [string, string]),
    ...['virus', 'SPAM', ''].map(value => [`reason=${value}`, 'reason'] as [string, string]),
    ['node=..%2f', 'node'],
    ['recipient=nodomain', 'recipient'],
    ['subject=', 'subject'],
    ['subject=%00', 'subject'],
    [`subject=${'x'.repeat(201)}`, 'subject'],
    ['strict=1', 'strict'],
    ['until=x', 'until'],
    ['max_score=x', 'max_score'],
    ['colour=red', 'colour'],
    ['__proto__=1', '__proto__'],
    ['LIMIT=5', 'LIMIT'],
    ['limit[]=5', 'limit[]'],
    ['limit=5&limit=5', 'limit'],
    ['domain=a.test&limit=5&domain=b.test', 'domain'],
  ];
  for (const [query, name] of wrong) {
    const answer = await list(query);
    t.is(answer.status, 400, query);
    t.is(answer.json.error.code, 'invalid_parameter');
    t.deepEqual(pathsOf(answer), [name], query);
    t.true(answer.json.error.detail.includes(name));
  }
  const several = await list('limit=0&offset=x&reason=virus&more=1');
  t.deepEqual(pathsOf(several), ['limit', 'more', 'offset', 'reason']);
  t.is((await node().api('GET', 'mail/quarantine/summary?limit=5')).status, 400, 'a summary has no pages');
});

test('the summary counts by domain, reason and node, with the oldest arrival', async t => {
  const {name} = await holdSome([{}, {}, {headers: 'X-Spamd-Result: default: True [9.25 / 15.00]; PHISHING(9.25)\r\n'}]);
  const mails = (await list(`domain=${name}`)).json.data as HeldMail[];

  const {status, json} = await node().api('GET', `mail/quarantine/summary?domain=${name}`);

  t.is(status, 200);
  const sizeOf = (some: HeldMail[]) => some.reduce((sum, {size_bytes}) => sum + size_bytes, 0);
  const group = (reason: string) => {
    const some = mails.filter(mail => mail.reason === reason);
    return {
      domain: name,
      reason,
      node_id: node().node_id,
      count: some.length,
      size_bytes: sizeOf(some),
      oldest_arrived_at: some.at(-1)?.arrived_at,
    };
  };
  t.deepEqual(json.data, {
    count: 3,
    size_bytes: sizeOf(mails),
    oldest_arrived_at: mails.at(-1)?.arrived_at,
    groups: [group('phishing'), group('spam')],
  });
});

test('the body is the raw mail after the trace header of the node, to be saved and never shown', async t => {
  const {name} = await node().createDomain();
  const raw = Buffer.from(
    'Subject: x\r\nX-Spam-Score: 8\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>\xff\x80\r\n..\r\n',
    'latin1',
  );
  await sendMail({port: node().smtpPort, from: 'a@outside.test', to: `b@${name}`, raw});
  const mail = (await list(`domain=${name}`)).json.data[0];

  const {status, headers, body} = await node().api('GET', `${pathOf(mail)}/body`);

  t.is(status, 200);
  t.is(headers['content-type'], 'text/rfc822');
  t.regex(String(headers['content-disposition']), /^attachment; filename="\w+\.eml"$/);
  t.is(headers['x-content-type-options'], 'nosniff');
  t.is(headers['content-length'], String(body.length));
  t.regex(body.subarray(0, -raw.length).toString(), /^Received: [^\r]+(\r\n[ \t][^\r]+)*\r\n$/);
  t.deepEqual(body.subarray(-raw.length), raw);

  const head = await node().api('HEAD', `${pathOf(mail)}/body`);
  t.is(head.status, 200);
  t.is(head.body.length, 0);
});

test('a mail by its id tells what the list leaves out', async t => {
  const {name, held} = await holdSome([{score: 8}]);
  const {status, json} = await node().api('GET', pathOf(held[0] as MailReference));

  t.is(status, 200);
  t.like(json.data, {
    ...held[0],
    domain: name,
    direction: 'inbound',
    client_ip: '127.0.0.1',
    helo: 'client.test',
    symbol_scores: [{name: 'UPSTREAM_SCORE', score: 8}],
  });
});

for (const [action, state, opposite] of [
  ['release', 'released', 'discard'],
  ['discard', 'discarded', 'release'],
] as const)
  test(`${action} acts once: again it says already, ${opposite} is a conflict, and the mail is out of the queue`, async t => {
    const {id, key} = await node().createKey('quarantine-only');
    const {name, held} = await holdSome([{subject: `to ${action}`}]);
    const mail = held[0] as MailReference;

    const first = await node().api('POST', `${pathOf(mail)}/${action}`, {key});
    const again = await node().api('POST', `${pathOf(mail)}/${action}`);
    const other = await node().api('POST', `${pathOf(mail)}/${opposite}`);

    t.is(first.status, 200);
    const {acted_at, ...rest} = first.json.data;
    t.deepEqual(rest, {...mail, state, acted_by_key_id: id, already: false});
    t.true(Math.abs(Date.now() - Date.parse(acted_at)) < 60_000);
    t.deepEqual(again.json.data, {...first.json.data, already: true});
    t.is(other.status, 409);
    t.is(other.json.error.code, 'conflict');
    for (const gone of [pathOf(mail), `${pathOf(mail)}/body`]) t.is((await node().api('GET', gone)).status, 404);
    t.is((await list(`domain=${name}`)).headers['x-total-count'], '0');
    const delivered = node().sink.mails.filter(({recipients}) => recipients[0] === `user@${name}`);
    t.is(delivered.length, action === 'release' ? 1 : 0);
  });

test('ids that are no ids are 400, mails and nodes that never were 404, and no path leads anywhere else', async t => {
  const here = node().node_id;
  const wrong = [
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e%2f',
    '%00',
    'a%00b',
    '%252e',
    'x'.repeat(65),
    'x'.repeat(6000),
    '%F0%9F%98%80',
    '%FF',
    '%zz',
    'abc',
    'with space',
    "'OR'1'='1",
    'sub%2fdir',
    '%5c..%5c',
  ];
  for (const id of wrong)
    for (const [method, suffix] of [
      ['GET', '/body'],
      ['GET', ''],
      ['POST', '/release'],
      ['POST', '/discard'],
    ] as const) {
      const asQueueId = await node().api(method, `mail/quarantine/${here}/${encodeURI(id).replaceAll('%25', '%')}${suffix}`);
      t.is(asQueueId.status, 400, `${method} ${id.slice(0, 40)}${suffix}`);
      t.is(asQueueId.json.error.fields[0].path, 'queue_id');
    }
  for (const id of ['..%2f..', '%00', 'x'.repeat(64), '%F0%9F%98%80', '-a', 'a_', 'a%2fb']) {
    const {status, json} = await node().api('POST', `mail/quarantine/${id}/abcdef/release`);
    t.is(status, 400, id);
    t.is(json.error.fields[0].path, 'node_id');
  }
  for (const [method, suffix] of [
    ['GET', '/body'],
    ['POST', '/release'],
    ['POST', '/discard'],
  ] as const) {
    t.is((await node().api(method, `mail/quarantine/${here}/neverknown1${suffix}`)).json.error.code, 'not_found');
    const elsewhere = await node().api(method, `mail/quarantine/elsewhere/neverknown1${suffix}`);
    t.is(elsewhere.status, 404);
    t.is(elsewhere.json.error.code, 'unknown_node');
  }
});

test('a bulk action answers item by item in the order asked and counts as one request', async t => {
  const {held} = await holdSome([{}, {}, {}]);
  const [a, b, c] = held as [MailReference, MailReference, MailReference];
  await node().api('POST', `${pathOf(b)}/discard`);
  const {key} = await node().createKey('quarantine-only', {rate_limit_per_minute: 1000});
  const never = {node_id: a.node_id, queue_id: 'neverknown1'};
  const elsewhere = {node_id: 'elsewhere', queue_id: a.queue_id};
  const before = Number(/r=(\d+)/.exec(String((await node().api('GET', 'auth/me', {key})).headers.ratelimit))?.[1]);

  const {status, json, headers} = await node().api('POST', 'mail/quarantine/release', {
    key,
    body: {items: [never, a, b, elsewhere, c, a]},
  });

  t.is(status, 200);
  t.deepEqual(
    json.data.map(({queue_id, state, already, error}: Record<string, never>) => [
      queue_id,
      error ? (error as {code: string}).code : state,
      already,
    ]),
    [
      ['neverknown1', 'not_found', undefined],
      [a.queue_id, 'released', json.data[1].already],
      [b.queue_id, 'conflict', undefined],
      [a.queue_id, 'unknown_node', undefined],
      [c.queue_id, 'released', false],
      [a.queue_id, 'released', !json.data[1].already],
    ],
  );
  const after = Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1]);
  t.true(after === before - 1 || after === 999, 'unless the minute ended in between');
});

test('a bulk action takes 1 to 1000 items, of the longest ids too', async t => {
  const bulk = async (body: unknown) => node().api('POST', 'mail/quarantine/discard', {body});
  const items = (count: number) =>
    Array.from({length: count}, () => ({node_id: `n${'o'.repeat(61)}e`, queue_id: 'q'.repeat(64)}));

  const most = await bulk({items: items(1000)});
  t.is(most.status, 200);
  t.is(most.json.data.length, 1000);
  for (const [body, path] of [
    [{items: items(1001)}, 'items'],
    [{items: []}, 'items'],
    [{}, 'items'],
    [{items: [{node_id: 'a', queue_id: '../../x'}]}, 'items.0.queue_id'],
    [{items: [{node_id: 'a', queue_id: 'abcdef', state: 'x'}]}, 'items.0.state'],
    [{items: ['abcdef']}, 'items.0'],
    [{items: items(1), all: true}, 'all'],
  ] as const) {
    const answer = await bulk(body);
    t.is(answer.status, 422);
    t.deepEqual(pathsOf(answer), [path]);
  }
  t.is((await bulk(`{"items":[${' '.repeat(300_000)}]}`)).status, 413);
});

for (const [who, actions] of [
  ['release or discard', ['release', 'discard']],
  ['discard or release', ['discard', 'release']],
  ['release', ['release']],
  ['discard', ['discard']],
] as const)
  test(`of fifty who ${who} one mail at once exactly one acts, and the others are told so`, async t => {
    const {name, held} = await holdSome([{}]);
    const mail = held[0] as MailReference;
    const asked = Array.from({length: 50}, (_, at) => actions[at % actions.length] ?? 'release');

    const answers = await Promise.all(asked.map(action => node().api('POST', `${pathOf(mail)}/${action}`)));

    const outcomes = answers.map(({status, json}) =>
      status === 200 ? `${json.data.state} ${json.data.already}` : json.error.code,
    );
    const state = outcomes.includes('released false') ? 'released' : 'discarded';
    const same = asked.filter(action => state.startsWith(action)).length;
    const expected = [`${state} false`, ...Array(same - 1).fill(`${state} true`), ...Array(50 - same).fill('conflict')];
    t.deepEqual(outcomes.toSorted(), expected.toSorted());
    t.is(node().sink.mails.filter(({recipients}) => recipients[0] === `user@${name}`).length, state === 'released' ? 1 : 0);
    const audited = (await node().api('GET', 'audit?limit=1000')).json.data as {target: string}[];
    t.is(audited.filter(({target}) => target.endsWith(mail.queue_id)).length, 1);
  });
