// Mail with DMARC reports at the milter: dmarc@one.test is where they are read.
import test, {type ExecutionContext} from 'ava';
import {connectPeer, type MilterAnswer, replyText, startTestMilter} from '../../../helpers/milter.ts';

const open = async (t: ExecutionContext) => {
  const milter = await startTestMilter(t);
  const peer = await connectPeer(milter.address);
  t.teardown(peer.destroy);
  return {milter, peer};
};

test('a report that is read is dropped by Postfix, without a change or a bounce', async t => {
  const {milter, peer} = await open(t);

  const {answers} = await peer.mail({to: ['dmarc@one.test']});

  t.deepEqual(
    answers.map(({letter}) => letter),
    ['d'],
  );
  t.deepEqual(milter.verdicts, ['report']);
});

test('what is no report is held in Postfix', async t => {
  const {milter, peer} = await open(t);
  milter.intake.takeReport = async () => 'it has no report attached';

  const {answers} = await peer.mail({to: ['dmarc@one.test']});

  t.true(answers.some(({letter}) => letter === 'q'));
  t.deepEqual([milter.held.length, milter.verdicts], [1, ['held']]);
  t.regex(milter.logged.join('\n'), /"problem":"it has no report attached"/);
});

test('a report that cannot be stored comes again', async t => {
  const {milter, peer} = await open(t);
  milter.intake.takeReport = async () => Promise.reject(new Error('EIO'));

  const {answers} = await peer.mail({to: ['dmarc@one.test']});

  t.regex(replyText(answers[0] as MilterAnswer), /^451 4\.3\.0 /);
});

test('an address for reports and a mailbox of the same domain come apart', async t => {
  const {peer} = await open(t);

  const {recipients} = await peer.mail({to: ['ben@one.test', 'dmarc@one.test']});

  t.is(recipients[0]?.letter, 'c');
  t.regex(replyText(recipients[1] as MilterAnswer), /^452 4\.5\.3 /);
});
