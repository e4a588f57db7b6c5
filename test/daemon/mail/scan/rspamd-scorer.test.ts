import {createServer, type IncomingMessage, type RequestListener} from 'node:http';
import {Readable} from 'node:stream';
import test, {type ExecutionContext} from 'ava';
import {createRspamdScorer, type RspamdOptions, scoreOfAnswer} from '../../../../daemon/mail/scan/rspamd-scorer.ts';
import {Fault} from '../../../../shared/fault.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {listening} from '../../../helpers/listening.ts';
import {contentOf, receivedMail, sample} from '../../../helpers/received-mail.ts';

interface Seen {
  rawHeaders: string[];
  url: string | undefined;
  body: Buffer;
}

/** A server in Rspamd's place. Resolves with the scorer that calls it and the requests that it received. */
const startFake = async (t: ExecutionContext, answer: RequestListener, options: Partial<RspamdOptions> = {}) => {
  const seen: Seen[] = [];
  const connections = {count: 0};
  const server = createServer(async (request, response) => {
    seen.push({rawHeaders: request.rawHeaders, url: request.url, body: await bodyOf(request)});
    answer(request, response);
  });
  server.on('connection', () => {
    connections.count += 1;
  });
  const url = `http://127.0.0.1:${await listening(t, server)}`;
  const scorer = createRspamdScorer({url, timeoutMs: 20_000, ...options});
  t.teardown(scorer.close);
  return {scorer, seen, connections};
};

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => Buffer.concat(await request.toArray().catch(() => []));

const json =
  (value: unknown): RequestListener =>
  (_request, response) =>
    response.end(JSON.stringify(value));

const valuesOf = (seen: Seen | undefined, name: string): string[] =>
  (seen?.rawHeaders ?? []).filter((_, index, all) => index % 2 === 1 && all[index - 1]?.toLowerCase() === name.toLowerCase());

const unavailable = {instanceOf: Fault, message: /^unavailable: /};

test('a recorded answer gives score, symbols and reason', async t => {
  const recorded = sample('rspamd-phishing.json');
  const {scorer} = await startFake(t, (_request, response) => response.end(recorded));

  const {score, symbols, reason} = await scorer.score(receivedMail({bytes: sample('phishing.eml')}));

  t.is(score, JSON.parse(recorded.toString()).score);
  t.deepEqual(
    symbols.find(symbol => symbol.name === 'PHISHING'),
    {name: 'PHISHING', score: 2},
  );
  t.true(symbols.some(symbol => symbol.score === 0));
  t.is(reason, 'phishing');
});

test('the test string’s recorded answer scores 15 though its symbol scores nothing', async t => {
  const {scorer} = await startFake(t, (_request, response) => response.end(sample('rspamd-gtube.json')));

  t.deepEqual(await scorer.score(receivedMail()), {score: 15, symbols: [{name: 'GTUBE', score: 0}], reason: 'spam'});
});

test('of an answer without measure only so many symbols are kept', t => {
  const symbols = Object.fromEntries(Array.from({length: 600}, (_, n) => [`SYMBOL_${n}_${'x'.repeat(200)}`, {score: 0.1}]));

  const score = scoreOfAnswer(JSON.stringify({score: 60, symbols}));

  t.is(score.symbols.length, 500);
  t.is(score.symbols[0]?.name.length, 100);
  t.is(score.score, 60);
});

test('Rspamd is told who sends what to whom, and gets every byte', async t => {
  const {scorer, seen} = await startFake(t, json({score: 1, symbols: {}}), {password: 'secret'});
  const bytes = sample('eight-bit.eml');

  await scorer.score(receivedMail({bytes, envelope: {sender: '', recipients: ['a@example.com', 'b@example.com']}}));

  t.is(seen[0]?.url, '/checkv2');
  t.deepEqual(seen[0]?.body, bytes);
  const expected = {
    From: ['<>'],
    Rcpt: ['<a@example.com>', '<b@example.com>'],
    IP: ['192.0.2.5'],
    Helo: ['mx.example.net'],
    Hostname: ['mx.example.net'],
    'Queue-ID': ['Q1w2E3r4T5'],
    Flags: ['groups'],
    Password: ['secret'],
    'Content-Length': [String(bytes.length)],
  };
  for (const [name, values] of Object.entries(expected)) t.deepEqual(valuesOf(seen[0], name), values, name);
});

test('nothing a client says becomes a header of its own', async t => {
  const {scorer, seen} = await startFake(t, json({score: 1}));
  const nasty = 'x\r\nPassword: y\0\n\u2028zoë😀\ud800';

  await scorer.score(receivedMail({client: {helo: nasty, hostname: nasty}, envelope: {sender: nasty, recipients: [nasty]}}));

  t.deepEqual(valuesOf(seen[0], 'Password'), []);
  t.is(Buffer.from(valuesOf(seen[0], 'Helo')[0] ?? '', 'latin1').toString('utf8'), 'x??Password: y??\u2028zoë😀\ufffd');
});

test('a connection is used again', async t => {
  const {scorer, connections} = await startFake(t, json({score: 1}));

  for (let count = 0; count < 5; count += 1) await scorer.score(receivedMail());

  t.is(connections.count, 1);
});

test('who has logged in is told, and nobody else', async t => {
  const {scorer, seen} = await startFake(t, json({score: 1}));

  await scorer.score(receivedMail({client: {user: 'zoë@example.com'}}));
  await scorer.score(receivedMail());

  t.is(Buffer.from(valuesOf(seen[0], 'User')[0] ?? '', 'latin1').toString(), 'zoë@example.com');
  t.deepEqual(valuesOf(seen[1], 'User'), []);
});

test('what a rule demands to be rejected scores what rejecting requires; other actions leave the score alone', async t => {
  const scoreOf = (answer: object) => scoreOfAnswer(JSON.stringify({score: 2.4, required_score: 15, ...answer})).score;

  t.is(scoreOf({action: 'reject'}), 15);
  t.is(scoreOf({action: 'reject', score: 18}), 18);
  t.is(scoreOf({action: 'reject', required_score: null}), 2.4);
  for (const action of ['no action', 'greylist', 'add header', 'rewrite subject', 'soft reject', undefined, 5])
    t.is(scoreOf({action}), 2.4, String(action));
});

test('only a soft reject asks for the mail to come again', t => {
  const answer = (action: string) => scoreOfAnswer(JSON.stringify({score: 4.5, action}));

  t.true(answer('soft reject').wantsRetry);
  for (const action of ['greylist', 'reject', 'no action']) t.is(answer(action).wantsRetry, undefined, action);
});

test('a mail that Rspamd skips scores nothing', async t => {
  const {scorer} = await startFake(t, json({is_skipped: true, score: 0, required_score: 0, action: 'no action'}));

  t.deepEqual(await scorer.score(receivedMail()), {score: 0, symbols: [], reason: 'spam'});
});

test('an answer that breaks off is asked for once more, and no third time', async t => {
  const {scorer, seen} = await startFake(t, (request, response) => {
    response.writeHead(200, {'Content-Length': '100'}).write('{"score": 1');
    setTimeout(() => request.socket.resetAndDestroy(), 20);
  });

  await t.throwsAsync(scorer.score(receivedMail()), {message: 'unavailable: Rspamd cannot be reached'});

  t.is(seen.length, 2);
});

test('the deadline holds for both tries together', async t => {
  const {scorer, seen} = await startFake(
    t,
    request => {
      if (seen.length === 1) setTimeout(() => request.socket.destroy(), 1000);
    },
    {timeoutMs: 4000},
  );
  let isOverdue = false;
  // Of two timers the earlier one fires first, however busy the machine is.
  const overdue = setTimeout(() => {
    isOverdue = true;
  }, 4900);
  t.teardown(() => clearTimeout(overdue));

  await t.throwsAsync(scorer.score(receivedMail()), {message: 'unavailable: Rspamd gave no answer within 4000 ms'});

  t.is(seen.length, 2);
  t.false(isOverdue);
});

test('mail that waits for a free connection does not wait longer than its deadline', async t => {
  const {scorer, seen} = await startFake(t, () => undefined, {timeoutMs: 2000, maxConnections: 1});

  const first = scorer.score(receivedMail());
  await eventually(async () => seen.length === 1);
  const second = scorer.score(receivedMail());

  await t.throwsAsync(first, unavailable);
  // The connection of the first request is free now and is used for the second; its deadline is unchanged.
  await t.throwsAsync(second, unavailable);
  t.true(seen.length <= 2);
});

test('closing ends what is under way, and it is not tried again', async t => {
  const {scorer, seen, connections} = await startFake(t, () => undefined, {timeoutMs: 20_000});
  const asking = scorer.score(receivedMail());
  await eventually(() => seen.length === 1);

  scorer.close();

  await t.throwsAsync(asking, unavailable);
  t.is(connections.count, 1);
});

test('an answer as deep as it is long is unavailable, and the scorer lives on', async t => {
  const depth = 500_000;
  let asked = 0;
  const {scorer} = await startFake(t, (request, response) => {
    asked += 1;
    if (asked === 1) response.end(`{"score": 1, "symbols": ${'['.repeat(depth)}${']'.repeat(depth)}}`);
    else json({score: 1})(request, response);
  });

  await t.throwsAsync(scorer.score(receivedMail()), unavailable);
  t.is((await scorer.score(receivedMail())).score, 1);
});

test('a connection that fails is tried once more with the whole mail', async t => {
  let asked = 0;
  const {scorer, seen} = await startFake(t, (request, response) => {
    asked += 1;
    if (asked === 1) request.socket.destroy();
    else json({score: 3})(request, response);
  });

  t.is((await scorer.score(receivedMail())).score, 3);
  t.deepEqual(
    seen.map(({body}) => body),
    [sample('plain.eml'), sample('plain.eml')],
  );
});

test('a connection that fails twice, or is refused, is unavailable', async t => {
  const {scorer, seen} = await startFake(t, request => request.socket.destroy());

  await t.throwsAsync(scorer.score(receivedMail()), unavailable);
  t.is(seen.length, 2);
  const nobody = createRspamdScorer({url: 'http://127.0.0.1:1/'});
  await t.throwsAsync(nobody.score(receivedMail()), {instanceOf: Fault, message: 'unavailable: Rspamd cannot be reached'});
});

test('an answer that does not come in time is not asked for again', async t => {
  const {scorer, seen} = await startFake(t, () => undefined, {timeoutMs: 2000});

  await t.throwsAsync(scorer.score(receivedMail()), {message: 'unavailable: Rspamd gave no answer within 2000 ms'});

  t.is(seen.length, 1);
});

test('an answer that dribbles past the deadline is given up', async t => {
  const {scorer} = await startFake(
    t,
    (_request, response) => {
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    },
    {timeoutMs: 200},
  );

  await t.throwsAsync(scorer.score(receivedMail()), {message: /within 200 ms/});
});

test('an answer that is none is unavailable', async t => {
  const answers: RequestListener[] = [
    (_request, response) => response.end('not json'),
    (_request, response) => response.end(''),
    (_request, response) => response.writeHead(500).end('{"score": 1}'),
    (_request, response) => response.end(' '.repeat(5 * 1024 * 1024)),
    json({error: 'no'}),
    json({score: null}),
    json({score: '5'}),
    json([]),
  ];

  for (const answer of answers) {
    const {scorer, seen} = await startFake(t, answer);
    await t.throwsAsync(scorer.score(receivedMail()), unavailable);
    t.is(seen.length, 1);
  }
});

test('what a later Rspamd may add or drop does no harm', async t => {
  const answer = {score: 99_999, symbols: {A: {score: 1, group: 'x'}, B: 'odd'}, groups: {x: 'odd'}, more: {}};
  const {scorer} = await startFake(t, json(answer));

  t.deepEqual(await scorer.score(receivedMail()), {
    score: 10_000,
    symbols: [
      {name: 'A', score: 1},
      {name: 'B', score: 0},
    ],
    reason: 'spam',
  });
});

test('content that cannot be read is unavailable, and the scorer lives on', async t => {
  const {scorer} = await startFake(t, json({score: 1}));
  const broken = {
    ...contentOf(sample('plain.eml')),
    open: () =>
      new Readable({
        read() {
          this.destroy(new Error('disk'));
        },
      }),
  };

  await t.throwsAsync(scorer.score({...receivedMail(), content: broken}), unavailable);
  t.is((await scorer.score(receivedMail())).score, 1);
});

test('an address that is no http address is refused at once', t => {
  t.throws(() => createRspamdScorer({url: 'https://rspamd.example.com'}), {instanceOf: Fault});
});
