import test, {type ExecutionContext} from 'ava';
import {createBackendPool} from '../../../../daemon/mail/backend/backend-pool.ts';
import {createRecipientCheck} from '../../../../daemon/mail/backend/recipient-check.ts';
import {closedPort} from '../../../helpers/ports.ts';
import {type SinkOptions, startSmtpSink} from '../../../helpers/smtp-sink.ts';

const start = async (t: ExecutionContext, options: SinkOptions & {maxRemembered?: number; deadlineMs?: number} = {}) => {
  const {maxRemembered, deadlineMs, ...behaviour} = options;
  const sink = await startSmtpSink(t, behaviour);
  const pool = createBackendPool({hostname: 'mx.example.net'});
  t.teardown(async () => pool.close());
  const clock = {now: 0};
  const limits = {...(maxRemembered !== undefined && {maxRemembered}), ...(deadlineMs !== undefined && {deadlineMs})};
  const check = createRecipientCheck({pool, now: () => clock.now, ...limits});
  const questions = () => sink.steps.filter(step => step.startsWith('RCPT')).length;
  const verdict = async (address: string, servers = [sink.server]) => (await check.ask({servers}, address)).verdict;
  return {sink, clock, questions, verdict, check};
};

const refused = (code: number, text: string) => ({recipients: {'ben@example.com': {code, text}}});

test('a server is asked once for a while, and longer about who is there than about who is not', async t => {
  const {sink, clock, questions, verdict} = await start(t, refused(550, '5.1.1 No such user'));

  const first = [await verdict('ada@example.com'), await verdict('ben@example.com')];
  const again = [await verdict('ada@example.com'), await verdict('ben@example.com')];

  t.deepEqual(first, ['known', 'unknown']);
  t.deepEqual(again, first);
  t.is(questions(), 2);
  sink.behave({});
  clock.now = 61_000;
  t.is(await verdict('ben@example.com'), 'known');
  t.is(await verdict('ada@example.com'), 'known');
  t.is(questions(), 3);
  clock.now = 301_000;
  await verdict('ada@example.com');
  t.is(questions(), 4);
});

test('nothing is delivered, and connections are used again', async t => {
  const {sink, verdict} = await start(t);

  for (let n = 0; n < 10; n += 1) await verdict(`user${n}@example.com`);

  t.deepEqual(sink.mails, []);
  // One connection may still wait for the reply to RSET when the next is needed.
  t.true(sink.connectionCount() <= 2, String(sink.connectionCount()));
  t.true(sink.steps.includes('MAIL '), sink.steps.join());
});

test('many who want to know the same at once make one question', async t => {
  const {questions, verdict} = await start(t, {delayMs: 50});

  const verdicts = await Promise.all(Array.from({length: 20}, async () => verdict('ada@example.com')));

  t.deepEqual(new Set(verdicts), new Set(['known']));
  t.is(questions(), 1);
});

for (const [code, text] of [
  [450, '4.2.1 Mailbox busy'],
  [552, '5.2.2 Mailbox full'],
  [530, '5.7.0 Must issue a STARTTLS command first'],
  [554, '5.7.1 Relay access denied'],
  [550, '5.1.7 Empty sender not taken'],
] as const)
  test(`${code} ${text} does not say that there is no such recipient, and is asked again`, async t => {
    const {questions, verdict} = await start(t, refused(code, text));

    t.is(await verdict('ben@example.com'), 'unclear');
    t.is(await verdict('ben@example.com'), 'unclear');
    t.is(questions(), 2);
  });

test('nothing is known while no server answers', async t => {
  const {verdict} = await start(t, {delayMs: 10_000, deadlineMs: 100});

  t.is(await verdict('ada@example.com', [await closedPort()]), 'unclear');
  t.is(await verdict('ada@example.com'), 'unclear');
});

test('new servers are asked again, and no more is remembered than was allowed', async t => {
  const {questions, verdict} = await start(t, {maxRemembered: 2});
  const other = await startSmtpSink(t, refused(550, '5.1.1 No such user'));

  t.is(await verdict('ben@example.com'), 'known');
  t.is(await verdict('ben@example.com', [other.server]), 'unknown');
  await verdict('ada@example.com');
  t.is(questions(), 2);
  await verdict('ben@example.com');
  t.is(questions(), 3);
});
