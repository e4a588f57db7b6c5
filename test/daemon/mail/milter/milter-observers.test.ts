// Counters, metrics and a log that fail at the milter. AVA fails a test for every rejection that nobody handles.
import test, {type ExecutionContext} from 'ava';
import type {MilterServerNeeds} from '../../../../daemon/mail/milter/milter-connection.ts';
import type {Judgement} from '../../../../daemon/services/intake/mail.ts';
import {failingCounters, failingLog} from '../../../helpers/failing-observers.ts';
import {judgement} from '../../../helpers/gateway.ts';
import {connectPeer, frame, startTestMilter} from '../../../helpers/milter.ts';

const open = async (t: ExecutionContext, needs: Partial<MilterServerNeeds> = {}) => {
  const milter = await startTestMilter(t, needs);
  const connectAgain = async () => {
    const peer = await connectPeer(milter.address);
    t.teardown(peer.destroy);
    return peer;
  };
  const peer = await connectAgain();
  const send = async (action: Judgement['action']) => {
    milter.intake.judge = async () => judgement(action);
    const {answers} = await peer.mail();
    return answers.map(({letter, data}) => `${letter} ${data}`);
  };
  return {milter, peer, send, connectAgain};
};

test('a log and counters that fail change no answer at the end of a mail, and the next mail works', async t => {
  const actions = ['relay', 'hold', 'reject', 'block', 'defer', 'relay', 'hold'] as const;
  const [well, failing] = [await open(t), await open(t, {log: failingLog})];
  Object.assign(failing.milter.intake, failingCounters);

  for (const action of actions) t.deepEqual(await failing.send(action), await well.send(action), action);

  for (const {milter} of [well, failing]) t.is(milter.held.length, 2);
});

test('a peer that breaks the protocol ends its own connection only, with a log that fails', async t => {
  const {peer, connectAgain} = await open(t, {log: failingLog});

  peer.write(frame('B', 'content without a mail'));
  await peer.closed;

  const {answers} = await (await connectAgain()).mail();
  t.is(answers.at(-1)?.letter, 'a');
});
