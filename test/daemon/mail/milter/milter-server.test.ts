// The milter on real sockets. The test plays Postfix.
import {createHash, randomBytes} from 'node:crypto';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import test, {type ExecutionContext} from 'ava';
import {testString} from '../../../../daemon/mail/content-check.ts';
import type {MilterServerNeeds} from '../../../../daemon/mail/milter/milter-connection.ts';
import type {Judgement} from '../../../../daemon/services/intake/mail.ts';
import {Fault} from '../../../../shared/fault.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {judgement} from '../../../helpers/gateway.ts';
import {connectPeer, frame, framesOf, type MilterAnswer, replyText, startTestMilter, texts} from '../../../helpers/milter.ts';
import {pause} from '../../../helpers/pause.ts';

const open = async (t: ExecutionContext, needs: Partial<MilterServerNeeds> = {}) => {
  const milter = await startTestMilter(t, needs);
  const peer = await connectPeer(milter.address);
  t.teardown(peer.destroy);
  return {milter, peer};
};

const judgeAs = (action: Judgement['action'], symbols?: Judgement['symbols']) => async () => ({
  ...judgement(action),
  ...(symbols && {symbols}),
});

/** Answers as text, such as `h X-Spam-Score= 0.00`. */
const shown = (answers: MilterAnswer[]) =>
  answers.map(({letter, data}) => {
    if (letter === 'y') return replyText({letter, data});
    const index = 'im'.includes(letter) ? `${data.readUInt32BE(0)} ` : '';
    const rest = 'im'.includes(letter) ? data.subarray(4) : data;
    return `${letter} ${index}${rest.toString('latin1').split('\0').slice(0, -1).join('=')}`.trim();
  });

const big = (sizeBytes: number) => Buffer.alloc(sizeBytes, `${'x'.repeat(76)}\r\n`);

test('a mail that nothing is wrong with is let pass with its score, and what it said of itself is gone', async t => {
  const {milter, peer} = await open(t);

  const {answers} = await peer.mail({
    headers: [
      ['Subject', ' hi'],
      ['x-spam-score', ' -100'],
      ['X-Spam-Symbols', ' NONE'],
    ],
  });

  t.deepEqual(shown(answers), [
    'm 1 X-Spam-Symbols=',
    'm 1 x-spam-score=',
    'h X-Spam-Score= 0.00',
    'h X-Spam-Symbols= SECRET_SYMBOL',
    'a',
  ]);
  t.is(milter.judged[0]?.content, 'Subject: hi\r\nx-spam-score: -100\r\nX-Spam-Symbols: NONE\r\n\r\ntext\r\n');
  t.like(milter.judged[0]?.mail, {queueId: '4jX9jr51JCzJFFG', hasTestString: false, client: {ip: '192.0.2.5'}});
  t.deepEqual(milter.verdicts, ['relayed']);
  t.regex(milter.logged.join('\n'), /^mail \{"queue_id":"4jX9jr51JCzJFFG".*"verdict":"relayed".*"score":0\}$/m);
});

test('a mail from which Postfix would have to remove thousands of fields is refused', async t => {
  const {milter, peer} = await open(t);
  const mailWith = (count: number) =>
    peer.mail({headers: Array.from({length: count}, (): [string, string] => ['X-Spam-Score', ' 1'])});

  t.is(shown((await mailWith(900)).answers).at(-1), 'a');
  t.deepEqual(shown((await mailWith(1100)).answers), ['552 5.3.4 Message header is too big']);
  t.deepEqual(milter.verdicts, ['relayed', 'refused']);
});

test('a mail is held in the index before Postfix is told to hold it', async t => {
  const {milter, peer} = await open(t);
  milter.intake.judge = judgeAs('hold');
  let held = () => {};
  milter.intake.hold = mail => {
    milter.held.push(mail);
    return new Promise(resolve => {
      held = resolve;
    });
  };
  const answering = peer.mail();

  await eventually(() => milter.held.length === 1);
  t.is(await Promise.race([answering, sleep(100, 'no answer')]), 'no answer');
  held();

  t.deepEqual(shown((await answering).answers), ['h X-Spam-Score= 8.00', 'h X-Spam-Symbols= SECRET_SYMBOL', 'q spam', 'a']);
  t.is(milter.held[0]?.queueId, '4jX9jr51JCzJFFG');
  t.deepEqual(milter.verdicts, ['held']);
});

test('spam and what a filter blocks are refused for good', async t => {
  const {milter, peer} = await open(t);

  milter.intake.judge = judgeAs('reject');
  t.regex(replyText((await peer.mail()).answers[0] as MilterAnswer), /^550 5\.7\.1 /);
  milter.intake.judge = judgeAs('block');
  t.regex(replyText((await peer.mail()).answers[0] as MilterAnswer), /^550 5\.7\.1 /);
  t.deepEqual(milter.verdicts, ['rejected', 'rejected']);
});

test('trouble of ours defers the mail: 451, for a full disk 452', async t => {
  const {milter, peer} = await open(t);
  const answerWhen = async (change: Partial<typeof milter.intake>) => {
    Object.assign(milter.intake, change);
    return replyText((await peer.mail()).answers[0] as MilterAnswer).slice(0, 9);
  };
  const failing = (error: Error) => async () => {
    throw error;
  };

  t.is(await answerWhen({judge: failing(new Fault('unavailable', 'the scorer is down'))}), '451 4.7.1');
  t.is(await answerWhen({judge: failing(new Error('a bug'))}), '451 4.3.0');
  t.is(await answerWhen({judge: judgeAs('hold'), hold: failing(new Error('EIO'))}), '451 4.3.0');
  t.is(await answerWhen({hold: failing(Object.assign(new Error('full'), {code: 'SQLITE_FULL'}))}), '452 4.3.1');
  t.deepEqual(milter.verdicts, ['deferred', 'deferred', 'deferred', 'deferred']);
  t.is(milter.logged.filter(line => line.startsWith('mail could not be accepted')).length, 4);
});

test('a mail without a usable queue id is not held, and the log says what to do', async t => {
  const {milter, peer} = await open(t);
  milter.intake.judge = judgeAs('hold');

  for (const queueId of [null, 'short', '../../etc', 'a'.repeat(65), 'ALL', '-']) {
    const {answers} = await peer.mail({queueId});
    t.is(replyText(answers[0] as MilterAnswer).slice(0, 9), '451 4.3.0', String(queueId));
  }

  t.is(milter.held.length, 0);
  t.true(milter.logged.every(line => line.includes('keep i in its milter_end_of_data_macros')));
  milter.intake.judge = judgeAs('relay');
  t.is((await peer.mail({queueId: null})).answers.at(-1)?.letter, 'a');
  const relayed = milter.logged.at(-1);
  t.regex(relayed ?? '', /"queue_id":"NOQUEUE"/);
});

test('outbound mail is signed, held or not; where signing fails it stays where it is', async t => {
  const {milter, peer} = await open(t, {isTrusted: () => true});
  const outbound = {from: 'ada@out.test', to: ['eve@example.net']};
  milter.intake.sign = async () => Buffer.from('DKIM-Signature: v=1; a=rsa-sha256;\r\n b=abc=\r\n');

  for (const action of ['relay', 'hold'] as const) {
    milter.intake.judge = judgeAs(action, []);
    const {answers} = await peer.mail(outbound);
    t.true(shown(answers).includes('i 0 DKIM-Signature= v=1; a=rsa-sha256;\n b=abc='), action);
  }
  milter.intake.sign = async () => {
    throw new Fault('unavailable', 'no such key');
  };
  for (const action of ['relay', 'hold'] as const) {
    milter.intake.judge = judgeAs(action, []);
    t.is(replyText((await peer.mail(outbound)).answers[0] as MilterAnswer).slice(0, 3), '451', action);
  }

  t.is(milter.held.length, 1);
});

test('a mail that is too big, or whose header is, is refused for good and kept nowhere', async t => {
  const {milter, peer} = await open(t, {maxSize: 400_000});

  const bigBody = await peer.mail({body: big(500_000)});
  const bigHeader = await peer.mail({headers: Array.from({length: 30}, (_, n) => [`X-${n}`, ` ${'y'.repeat(10_000)}`])});
  const fine = await peer.mail({body: big(390_000)});

  t.is(replyText(bigBody.answers[0] as MilterAnswer).slice(0, 9), '552 5.3.4');
  t.is(replyText(bigHeader.answers[0] as MilterAnswer).slice(0, 9), '552 5.3.4');
  t.is(fine.answers.at(-1)?.letter, 'a');
  t.deepEqual(milter.verdicts, ['refused', 'refused', 'relayed']);
  t.deepEqual(await milter.spilled(), []);
});

test('a body of 50 MB comes whole, through a file that is gone afterwards', async t => {
  const {milter, peer} = await open(t);
  const body = Buffer.concat(Array.from({length: 50}, () => Buffer.from(randomBytes(500_000).toString('hex'))));
  let hash = '';
  let files = 0;
  milter.intake.judge = async mail => {
    const hasher = createHash('sha256');
    for await (const chunk of mail.content.open()) hasher.update(chunk);
    hash = hasher.digest('hex');
    files = (await milter.spilled()).length;
    return judgement('relay');
  };

  const {answers} = await peer.mail({headers: [], body});

  t.is(answers.at(-1)?.letter, 'a');
  t.is(hash, createHash('sha256').update('\r\n').update(body).digest('hex'));
  t.is(files, 1);
  await eventually(async () => (await milter.spilled()).length === 0);
});

test('the test string is found across chunks, and the form of a mail is not judged again', async t => {
  const {milter, peer} = await open(t);
  const padding = 'x'.repeat(65_535 - 20);

  await peer.mail({headers: [], body: `${padding}${testString}\n bare LF, and a line of more than 998 octets, and a NUL \0`});

  t.true(milter.judged[0]?.mail.hasTestString);
});

test('many mails on one connection have nothing of one another', async t => {
  const {milter, peer} = await open(t);

  for (let n = 0; n < 200; n += 1) {
    const {answers} = await peer.mail({queueId: `Queued${n}`, body: `${n}\r\n`, to: [`r${n}@one.test`]});
    t.is(answers.at(-1)?.letter, 'a');
    if (n % 3 === 0) peer.write(frame('A'));
  }

  t.deepEqual(
    milter.judged.map(({mail, content}) => `${mail.queueId} ${mail.envelope.recipients} ${content.split('\r\n\r\n')[1]}`),
    Array.from({length: 200}, (_, n) => `Queued${n} r${n}@one.test ${n}\r\n`),
  );
});

test('an aborted mail leaves nothing, and the connection goes on', async t => {
  const {milter, peer} = await open(t);
  await peer.untilContent({body: big(1_000_000)});
  peer.write(framesOf({body: big(1_000_000)}).content);
  await eventually(async () => (await milter.spilled()).length === 1);

  peer.write(frame('A'));
  const {answers} = await peer.mail({body: 'second\r\n'});

  t.is(answers.at(-1)?.letter, 'a');
  t.true(milter.judged[0]?.content.endsWith('\r\n\r\nsecond\r\n'));
  t.is(milter.judged.length, 1);
  t.deepEqual(await milter.spilled(), []);
});

test('a peer that vanishes, at whatever stage, leaves nothing', async t => {
  const {milter} = await open(t);
  const {start, recipients, data, content} = framesOf({body: big(700_000)});
  const stages = [
    Buffer.alloc(0),
    start,
    Buffer.concat([start, ...recipients]),
    Buffer.concat([start, ...recipients, data]),
    Buffer.concat([start, ...recipients, data, content.subarray(0, 500_000)]),
    Buffer.concat([start, ...recipients, data, content]),
  ];

  for (const bytes of stages) {
    const peer = await connectPeer(milter.address);
    peer.write(bytes);
    if (bytes.length > 400_000) await eventually(async () => (await milter.spilled()).length === 1);
    peer.destroy();
    await eventually(async () => (await milter.spilled()).length === 0);
  }

  t.deepEqual(milter.verdicts, []);
  t.is(milter.logged.length, 0, milter.logged.join());
});

test('a mail whose peer goes, or gives it up, while it is judged is not held, for it will come again', async t => {
  for (const leaving of ['vanishes', 'aborts'] as const) {
    const {milter, peer} = await open(t);
    let judged: (() => void) | undefined;
    milter.intake.judge = () =>
      new Promise(resolve => {
        judged = () => resolve(judgement('hold'));
      });
    await peer.untilContent();
    const {content, end} = framesOf({body: big(700_000)});
    peer.write(Buffer.concat([content, end]));
    await eventually(() => judged !== undefined);

    if (leaving === 'vanishes') peer.destroy();
    else peer.write(Buffer.concat([frame('A'), frame('D', 'H'), frame('D', 'M', texts())]));
    await pause(100);
    judged?.();
    await eventually(() => milter.verdicts.length === 1);

    t.deepEqual(milter.verdicts, ['deferred'], leaving);
    t.is(milter.held.length, 0, leaving);
    await eventually(async () => (await milter.spilled()).length === 0);
    if (leaving === 'aborts') {
      milter.intake.judge = judgeAs('reject');
      const {recipients, answers} = await peer.mail();
      // The answer to the first mail would have been taken as the answer to the second one's recipient.
      t.deepEqual(
        [...recipients, ...answers].map(({letter}) => letter),
        ['c', 'y'],
      );
    }
  }
});

test('a connection has one mail at a time, also when it gives up one after another while they are judged', async t => {
  const {milter, peer} = await open(t);
  let judged = () => {};
  milter.intake.judge = () =>
    new Promise(resolve => {
      judged = () => resolve(judgement('relay'));
    });
  const {content, end} = framesOf({body: big(30_000_000)});
  await peer.untilContent();
  peer.write(Buffer.concat([framesOf({body: big(700_000)}).content, end]));
  await eventually(async () => (await milter.spilled()).length === 1);
  peer.write(frame('A'));

  await peer.untilContent();
  peer.write(Buffer.concat([content, end]));
  await pause(1000);

  t.is((await milter.spilled()).length, 1);
  t.true(peer.unsentBytes() > 10_000_000);
  milter.intake.judge = judgeAs('relay');
  judged();
  t.is((await peer.decision()).at(-1)?.letter, 'a');
  t.deepEqual(milter.verdicts, ['deferred', 'relayed']);
});

test('what is not the protocol ends its connection and no other one', async t => {
  const {milter, peer} = await open(t);

  for (const bytes of [Buffer.from('EHLO client.test\r\n'), frame('R', texts('<a@one.test>')), frame('x'), Buffer.alloc(8)]) {
    const other = await connectPeer(milter.address, {isSilent: bytes.length > 8});
    other.write(bytes);
    await other.closed;
  }

  t.is((await peer.mail()).answers.at(-1)?.letter, 'a');
  t.is(milter.logged.filter(line => line.startsWith('milter connection closed: not the milter protocol')).length, 4);
});

test('a connection too many is refused, until another one ends', async t => {
  const {milter, peer} = await open(t, {maxConnections: 1});

  await t.throwsAsync(connectPeer(milter.address), {message: /closed the connection/});
  peer.destroy();

  const next = await eventually(async () => connectPeer(milter.address).catch(() => undefined));
  t.is((await next.mail()).answers.at(-1)?.letter, 'a');
  next.destroy();
});

test('a connection that is silent for too long ends', async t => {
  const {peer} = await open(t, {idleMs: 1000});

  await peer.closed;

  t.pass();
});

test('stopping ends idle connections and waits for the mail under way', async t => {
  const {milter, peer} = await open(t);
  const idle = await connectPeer(milter.address);
  await peer.untilContent();
  let judged: (() => void) | undefined;
  milter.intake.judge = () =>
    new Promise(resolve => {
      judged = () => resolve(judgement('relay'));
    });

  const stopping = milter.stop();
  await idle.closed;
  const {content, end} = framesOf({});
  peer.write(Buffer.concat([content, end]));
  await eventually(() => judged !== undefined);
  judged?.();
  const answers = await peer.decision();
  await stopping;

  t.is(answers.at(-1)?.letter, 'a');
  await peer.closed;
  await t.throwsAsync(connectPeer(milter.address));
});

test('stopping waits no longer than it may', async t => {
  const {milter, peer} = await open(t, {drainMs: 100});
  await peer.untilContent();
  peer.write(framesOf({body: big(700_000)}).content);
  await eventually(async () => (await milter.spilled()).length === 1);

  await milter.stop();

  await peer.closed;
  t.deepEqual(await milter.spilled(), []);
  t.deepEqual(milter.verdicts, []);
});

test('it listens on a unix socket as well', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-milter-socket-'));
  t.teardown(() => rm(folder, {recursive: true}));

  const {milter, peer} = await open(t, {listen: {path: join(folder, 'milter.sock')}});

  t.deepEqual(milter.address, {path: join(folder, 'milter.sock')});
  t.is((await peer.mail()).answers.at(-1)?.letter, 'a');
});
