import test, {type ExecutionContext} from 'ava';
import {createBackendPool} from '../../../../daemon/mail/backend/backend-pool.ts';
import {createDeliver, type DeliverNeeds} from '../../../../daemon/mail/backend/deliver.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {closedPort} from '../../../helpers/ports.ts';
import {contentOf} from '../../../helpers/received-mail.ts';
import {startSmtpSink} from '../../../helpers/smtp-sink.ts';

const openDeliver = (t: ExecutionContext, sign?: DeliverNeeds['sign']) => {
  const pool = createBackendPool({hostname: 'gate.test'});
  t.teardown(() => pool.close());
  return createDeliver({pool, ...(sign && {sign})});
};

const envelope = {sender: 'a@one.test', recipients: ['b@two.test', 'c@two.test'], isUtf8: false, isEightBit: true};
const bytes = Buffer.from('Received: mine\r\nSubject: x\r\n\r\n.dots\r\n');
const domain = {name: 'one.test'} as Domain;

test('every recipient is delivered to with one transaction and the bytes as they were', async t => {
  const sink = await startSmtpSink(t);

  const results = await openDeliver(t).deliver({servers: [sink.server]}, envelope, contentOf(bytes));

  t.deepEqual(
    results.map(({recipient, outcome}) => `${recipient} ${outcome}`),
    ['b@two.test delivered', 'c@two.test delivered'],
  );
  t.is(sink.mails.length, 1);
  t.like(sink.mails[0], {sender: 'a@one.test', recipients: envelope.recipients, isEightBit: true, content: bytes});
});

test('mixed replies deliver to those accepted and say of each other one what became of it', async t => {
  const sink = await startSmtpSink(t, {
    recipients: {'b@two.test': {code: 550, text: '5.1.1 unknown'}, 'd@two.test': {code: 450, text: '4.2.1 later'}},
  });
  const all = {...envelope, recipients: ['b@two.test', 'c@two.test', 'd@two.test', 'c@two.test']};

  const results = await openDeliver(t).deliver({servers: [sink.server]}, all, contentOf(bytes));

  t.like(results, [
    {recipient: 'b@two.test', outcome: 'refused', reply: {code: 550, text: '5.1.1 unknown'}},
    {recipient: 'c@two.test', outcome: 'delivered'},
    {recipient: 'd@two.test', outcome: 'deferred', reply: {code: 450, text: '4.2.1 later'}},
  ]);
  t.deepEqual(
    sink.mails.map(mail => mail.recipients),
    [['c@two.test']],
  );
});

test('the reply to the content counts for every recipient accepted before', async t => {
  for (const [code, outcome] of [
    [554, 'refused'],
    [451, 'deferred'],
  ] as const) {
    const sink = await startSmtpSink(t, {final: {code, text: 'not this one'}});

    const results = await openDeliver(t).deliver({servers: [sink.server]}, envelope, contentOf(bytes));

    t.deepEqual(
      results.map(result => result.outcome),
      [outcome, outcome],
    );
  }
});

test('no server, a refused sender and a lost connection are results, never errors', async t => {
  const lost = await startSmtpSink(t, {drop: 'after-final-dot'});
  const refusing = await startSmtpSink(t, {senders: {'a@one.test': {code: 550, text: '5.7.1 no'}}});
  const {deliver} = openDeliver(t);

  const [down, refused, unknown] = await Promise.all([
    deliver({servers: [await closedPort()]}, envelope, contentOf(bytes)),
    deliver({servers: [refusing.server]}, envelope, contentOf(bytes)),
    deliver({servers: [lost.server]}, envelope, contentOf(bytes)),
  ]);

  t.deepEqual(
    down.map(result => result.outcome),
    ['deferred', 'deferred'],
  );
  t.deepEqual(
    refused.map(result => result.outcome),
    ['refused', 'refused'],
  );
  t.deepEqual(
    unknown.map(result => result.outcome),
    ['deferred', 'deferred'],
  );
});

test('the signature goes before the mail when the route asks for one, and only then', async t => {
  const sink = await startSmtpSink(t);
  const {deliver} = openDeliver(t, async ({name}) => Buffer.from(`DKIM-Signature: d=${name}\r\n`));

  await deliver({servers: [sink.server], signFor: domain}, envelope, contentOf(bytes));
  await deliver({servers: [sink.server]}, envelope, contentOf(bytes));

  t.deepEqual(
    sink.mails.map(mail => mail.content.toString().split('\r\n')[0]),
    ['DKIM-Signature: d=one.test', 'Received: mine'],
  );
});

test('an address that could smuggle another one in is refused and the others get the mail', async t => {
  const sink = await startSmtpSink(t);
  const recipients = ['b@two.test> <evil@x.test', 'c@two.test'];

  const results = await openDeliver(t).deliver({servers: [sink.server]}, {...envelope, recipients}, contentOf(bytes));

  t.deepEqual(
    results.map(result => result.outcome),
    ['refused', 'delivered'],
  );
  t.deepEqual(sink.mails[0]?.recipients, ['c@two.test']);
});
