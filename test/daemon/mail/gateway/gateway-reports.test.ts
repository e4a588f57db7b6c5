// Mail with DMARC reports at the gateway: dmarc@one.test is where they are read.
import {buffer} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import {judgement, startTestGateway} from '../../../helpers/gateway.ts';
import {connect} from '../../../helpers/smtp-client.ts';

const line = (reply: {code: number; text: string}) => `${reply.code} ${reply.text}`;
const raw = 'Subject: Report Domain: one.test\r\n\r\nhello\r\n';

const open = async (t: ExecutionContext) => {
  const gateway = await startTestGateway(t);
  const client = await connect(gateway.port);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');
  const counted: string[] = [];
  gateway.intake.count = ({outcome}) => void counted.push(outcome);
  const send = async (...recipients: string[]) => {
    await client.cmd('MAIL FROM:<a@strange.test>');
    const replies = [];
    for (const one of recipients) replies.push(line(await client.cmd(`RCPT TO:<${one}>`)));
    return {replies, end: line(await client.data(raw))};
  };
  return {gateway, send, counted};
};

test('a report is taken without a server that knows its address, and goes to none', async t => {
  const {gateway, send, counted} = await open(t);
  const taken: string[] = [];
  gateway.intake.takeReport = async ({content}) => {
    taken.push((await buffer(content.open())).toString());
    return undefined;
  };

  const {replies, end} = await send('dmarc@one.test');

  t.deepEqual(replies, ['250 2.1.5 Accepted']);
  t.regex(end, /^250 2\.0\.0 Ok: queued as /);
  t.deepEqual(taken, [raw]);
  t.deepEqual(gateway.sink.steps, [], 'no server was asked');
  t.deepEqual([gateway.held.length, gateway.verdicts, counted], [0, ['report'], []]);
});

test('what is no report is held as mail, with a sign of why', async t => {
  const {gateway, send, counted} = await open(t);
  gateway.intake.takeReport = async () => 'it has no report attached';
  let symbols: string[] = [];
  const {hold} = gateway.intake;
  gateway.intake.hold = async (mail, ownership, judged) => {
    symbols = judged.symbols.map(({name}) => name);
    await hold(mail, ownership, judged);
  };

  const {end} = await send('dmarc@one.test');

  t.regex(end, /^250 2\.0\.0 Ok: queued as /);
  t.deepEqual([gateway.held[0]?.content, gateway.sink.mails.length], [raw, 0]);
  t.true(symbols.includes('DMARC_REPORT_NOT_READ'));
  t.deepEqual([gateway.verdicts, counted], [['held'], ['held']]);
});

test('mail to the address that is suspicious is held, and spam refused, and neither is read', async t => {
  const {gateway, send} = await open(t);
  gateway.intake.takeReport = async () => t.fail() as never;

  gateway.intake.judge = async () => judgement('hold');
  const held = await send('dmarc@one.test');
  gateway.intake.judge = async () => judgement('reject');
  const refused = await send('dmarc@one.test');

  t.regex(held.end, /^250 /);
  t.regex(refused.end, /^550 /);
  t.deepEqual(gateway.verdicts, ['held', 'rejected']);
});

test('a report that cannot be stored comes again', async t => {
  const {gateway, send} = await open(t);
  gateway.intake.takeReport = async () => Promise.reject(Object.assign(new Error('full'), {code: 'SQLITE_FULL'}));

  const {end} = await send('dmarc@one.test');

  t.regex(end, /^452 4\.3\.1 /);
  t.deepEqual([gateway.held.length, gateway.verdicts], [0, ['deferred']]);
});

test('an address for reports and a mailbox of the same domain come apart', async t => {
  const {gateway, send} = await open(t);
  gateway.intake.takeReport = async () => t.fail() as never;

  const {replies} = await send('ben@one.test', 'dmarc@one.test');

  t.is(replies[0], '250 2.1.5 Accepted');
  t.regex(replies[1] ?? '', /^452 4\.5\.3 /);
  t.deepEqual(
    gateway.sink.mails.map(({recipients}) => recipients),
    [['ben@one.test']],
  );
});
