// Tests of the account of mail: each kind of wrong that it must see.
import test from 'ava';
import type {MailNode} from '../helpers/mail-node.ts';
import {createMailAccount} from './mail-account.ts';

const mail = (queueId: string, recipient = 'ben@example.com') => ({
  ...{sender: 'a@a.test', recipients: [recipient], isUtf8: false, isEightBit: false, isSecure: false, user: undefined},
  content: Buffer.from(
    `Received: from client.test (unknown [127.0.0.1])\r\n\tby mx.test with ESMTP id ${queueId};\r\n\tnever\r\n\r\nhi\r\n`,
  ),
});

/** A node that holds these mails, and answers a discard with this state. */
const holding = (queueIds: string[], state = 'discarded') => {
  const data = queueIds.map(queue_id => ({queue_id, node_id: 'n', state}));
  return {held: async () => data, api: async () => ({status: 200, json: {data}})} as unknown as MailNode;
};

test('mail that arrived once, is held once, or was a report is accounted for', async t => {
  const account = createMailAccount('checked.example');
  for (const queueId of ['relayed', 'held', 'heldReport', 'report', 'checked'])
    account.acknowledged(queueId, /report/i.test(queueId) ? 'report' : 'mail');

  account.delivered(mail('relayed'));
  account.delivered(mail('kept', 'ben@checked.example'));
  await account.sweep(holding(['held', 'heldReport', 'checked']), 'example.com');

  t.deepEqual(account.violations(), []);
  t.deepEqual(account.counts, {delivered: 1, held: 3});
  t.regex(account.takeContent('kept') ?? '', /hi\r\n$/);
  t.is(account.takeContent('kept'), undefined);
});

test('mail that is lost, doubled, delivered without an answer or a delivered report is named', async t => {
  const account = createMailAccount('checked.example');
  for (const queueId of ['lost', 'twice', 'both']) account.acknowledged(queueId, 'mail');
  account.acknowledged('report', 'report');

  for (const queueId of ['twice', 'twice', 'both', 'unanswered', 'report']) account.delivered(mail(queueId));
  await account.sweep(holding(['both']), 'example.com');
  await account.sweep(holding(['stuck'], 'held'), 'example.com');

  t.deepEqual(account.violations(), [
    'stuck was held and is held',
    'lost (mail) is lost',
    'twice (mail) is delivered and delivered',
    'both (mail) is delivered and held',
    'report (report) is delivered',
    'unanswered (never acknowledged) is delivered',
  ]);
});
