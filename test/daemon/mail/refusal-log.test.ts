import test from 'ava';
import type {EnvelopeRefusal} from '../../../daemon/mail/mail-decision.ts';
import {createRefusalLog} from '../../../daemon/mail/refusal-log.ts';
import {useFakeClock} from '../../helpers/fake-clock.ts';
import {startTestGateway} from '../../helpers/gateway.ts';
import {connectPeer, startTestMilter} from '../../helpers/milter.ts';
import {connect} from '../../helpers/smtp-client.ts';

type Line = Record<string, unknown> & {message: string};

const linesIn = (logged: readonly string[]): Line[] =>
  logged.map(text => {
    const at = text.indexOf(' {');
    return {message: text.slice(0, at), ...JSON.parse(text.slice(at + 1))};
  });

const clientAt = (ip: string) => ({ip, name: null, helo: 'client.test', tls: null});
const refusal = {
  client: clientAt('192.0.2.1'),
  sender: 'a@strange.test',
  recipient: 'b@one.test',
  reply: {code: 550, text: '5.1.1 No'},
};

const recorder = () => {
  const logged: string[] = [];
  const log = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const recorded: EnvelopeRefusal[] = [];
  let leftOut = 0;
  const intake = {
    recordRefusal: (one: EnvelopeRefusal) => void recorded.push(one),
    leaveOutRefusal: () => {
      leftOut += 1;
    },
  };
  const refusals = createRefusalLog({log: {info: log, warn: log}, intake});
  return {lines: () => linesIn(logged), refusals, recorded, leftOut: () => leftOut};
};

test('a refused RCPT has a log line with its recipient, whoever refuses it', async t => {
  const gateway = await startTestGateway(t, {
    sink: {recipients: {'ghost@one.test': {code: 550, text: '5.1.1 no such user'}}},
  });
  const client = await connect(gateway.port);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');
  await client.cmd('MAIL FROM:<a@strange.test>');

  for (const path of ['<b@foreign.test>', '<b%x@one.test>', '<b@closed.test>', '<ghost@one.test>', 'none'])
    t.true((await client.cmd(`RCPT TO:${path}`)).code >= 400, path);
  await client.cmd('RCPT TO:<b@one.test>');

  const refused = linesIn(gateway.logged).filter(({message}) => message === 'recipient refused');
  t.deepEqual(
    refused.map(({recipients, verdict, reply}) => [recipients, verdict, String(reply).slice(0, 9)]),
    [
      [['b@foreign.test'], 'refused', '550 5.7.1'],
      [['b%x@one.test'], 'refused', '550 5.1.3'],
      [['b@closed.test'], 'deferred', '450 4.7.1'],
      [['ghost@one.test'], 'refused', '550 5.1.1'],
      [['none'], 'refused', '501 5.1.3'],
    ],
  );
  for (const line of refused) t.like(line, {client_ip: '127.0.0.1', sender: 'a@strange.test', recipient_count: 1});
});

test('mail refused at MAIL has a log line, and RCPT after it has none', async t => {
  const gateway = await startTestGateway(t);
  gateway.intake.canTakeMail = () => ({code: 452, text: '4.3.1 full'});
  const client = await connect(gateway.port);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');

  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<b@one.test>');

  t.is(gateway.logged.length, 1);
  t.like(linesIn(gateway.logged)[0], {
    message: 'mail refused at MAIL',
    sender: 'a@strange.test',
    recipients: [],
    verdict: 'deferred',
    reply: '452 4.3.1 full',
  });
});

test('a recipient that the milter refuses has a log line', async t => {
  const milter = await startTestMilter(t);
  const peer = await connectPeer(milter.address);
  t.teardown(peer.destroy);

  await peer.mail({from: 'a@strange.test', to: ['b@one.test', 'b%x@one.test']});

  const lines = linesIn(milter.logged);
  t.like(
    lines.find(({message}) => message === 'recipient refused'),
    {sender: 'a@strange.test', recipients: ['b%x@one.test'], recipient_count: 1, verdict: 'refused'},
  );
});

test('the line of a mail names its first 20 recipients, each cut to 320 characters, and counts all of them', async t => {
  const gateway = await startTestGateway(t, {needs: {maxRecipients: 100}});
  const client = await connect(gateway.port);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');
  await client.cmd('MAIL FROM:<a@strange.test>');
  for (let n = 0; n < 30; n += 1) await client.cmd(`RCPT TO:<u${n}@one.test>`);

  await client.data('Subject: hi\r\n\r\nhello\r\n');

  const line = linesIn(gateway.logged).find(({message}) => message === 'mail');
  t.like(line, {recipient_count: 30, recipients: Array.from({length: 20}, (_, n) => `u${n}@one.test`), verdict: 'relayed'});

  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd(`RCPT TO:<${'x'.repeat(3000)}@foreign.test>`);
  t.deepEqual(linesIn(gateway.logged).at(-1)?.recipients, [`${'x'.repeat(320)}…`]);
});

test.serial('a flood of refused recipients makes 50 lines a second, and one that says how many were left out', async t => {
  const clock = useFakeClock(t);
  const {refusals, lines, recorded, leftOut} = recorder();

  for (let n = 0; n < 1000; n += 1) refusals.record(refusal);
  t.is(lines().length, 50);
  t.deepEqual([recorded.length, leftOut()], [50, 950], 'in the event log too');

  await clock.advance(1000);
  t.is(lines().length, 51);
  t.like(lines()[50], {left_out: 950});

  refusals.record(refusal);
  await clock.advance(1000);
  t.is(lines().length, 52, 'nothing was left out of the next second');
});

test.serial('one client that floods the log does not hide the others, and all of them together are bounded', async t => {
  const clock = useFakeClock(t);
  const {refusals, lines} = recorder();
  const linesOf = (clientIp: string) => lines().filter(line => line.client_ip === clientIp).length;

  for (let n = 0; n < 1000; n += 1) refusals.record(refusal);
  for (let n = 0; n < 20; n += 1) refusals.record({...refusal, client: clientAt('192.0.2.2')});
  for (let n = 0; n < 1000; n += 1) refusals.record({...refusal, client: clientAt(`198.51.100.${n}`)});

  t.deepEqual([linesOf('192.0.2.1'), linesOf('192.0.2.2'), lines().length], [50, 5, 100]);
  await clock.advance(1000);
  t.like(lines().at(-1), {left_out: 1920});
  for (let n = 0; n < 60; n += 1) refusals.record(refusal);
  t.is(linesOf('192.0.2.1'), 100, 'the next second is counted anew');
});

test('what was left out is said when the listener stops', t => {
  const {refusals, lines} = recorder();
  for (let n = 0; n < 60; n += 1) refusals.record(refusal);

  refusals.flush();

  t.like(lines().at(-1), {left_out: 10});
});
