// Counters, metrics and a log that fail at the gateway. AVA fails a test for every rejection that nobody handles.
import test, {type ExecutionContext} from 'ava';
import type {Judgement} from '../../../../daemon/services/intake/mail.ts';
import {failingCounters, failingLog} from '../../../helpers/failing-observers.ts';
import {judgement, startTestGateway, type TestGatewayOptions} from '../../../helpers/gateway.ts';
import {whileInherited} from '../../../helpers/inherited.ts';
import {connect, type Reply} from '../../../helpers/smtp-client.ts';

const line = (reply: Reply) => `${reply.code} ${reply.text}`;

const open = async (t: ExecutionContext, needs: TestGatewayOptions['needs'] = {}) => {
  const gateway = await startTestGateway(t, {needs});
  const client = await connect(gateway.port);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');
  const send = async (action: Judgement['action']) => {
    gateway.intake.judge = async () => judgement(action);
    await client.cmd('MAIL FROM:<a@strange.test>');
    await client.cmd('RCPT TO:<b@one.test>');
    return line(await client.data('Subject: hi\r\n\r\nhello\r\n'));
  };
  return {gateway, client, send};
};

test('a log and counters that fail change no reply, and the next mail works', async t => {
  const actions = ['relay', 'hold', 'reject', 'block', 'defer', 'relay', 'hold'] as const;
  const [well, failing] = [await open(t), await open(t, {log: failingLog})];
  Object.assign(failing.gateway.intake, failingCounters);

  for (const action of actions) t.is(await failing.send(action), await well.send(action), action);

  for (const {gateway} of [well, failing]) t.deepEqual([gateway.sink.mails.length, gateway.held.length], [2, 2]);
});

test('a counter that fails is told in the log', async t => {
  const {gateway, send} = await open(t);
  Object.assign(gateway.intake, failingCounters);

  t.regex(await send('relay'), /^250 /);

  const told = gateway.logged.filter(text => text.startsWith('a mail could not be counted'));
  t.is(told.length, Object.keys(failingCounters).length);
});

test('a command that fails is answered, and the session goes on, with a log that fails', async t => {
  const {gateway, client, send} = await open(t, {log: failingLog});
  const {routing} = gateway.intake;
  gateway.intake.routing = () => {
    throw new Error('no routing');
  };
  await client.cmd('MAIL FROM:<a@strange.test>');

  t.regex(line(await client.cmd('RCPT TO:<b@one.test>')), /^451 /);

  gateway.intake.routing = routing;
  t.regex(await send('relay'), /^250 /);
});

test.serial('what all objects inherit changes no reply and no relay', async t => {
  const {gateway, send} = await open(t);

  for (const name of ['lost', 'code', 'connection', 'records', 'unreadable', 'error', 'path', 'isTlsFailure', 'isForReports'])
    for (const action of ['relay', 'hold', 'reject'] as const)
      t.regex(
        await whileInherited(name, 'polluted', async () => send(action)),
        action === 'reject' ? /^550 / : /^250 /,
        `${name} ${action}`,
      );

  t.deepEqual([gateway.sink.mails.length, gateway.held.length], [9, 9]);
});
