import {Readable} from 'node:stream';
import test from 'ava';
import {queuedMails} from '../../../../daemon/hold/postfix/postqueue.ts';

const line = (more: object = {}) =>
  `${JSON.stringify({
    queue_name: 'hold',
    queue_id: '4jX9Tl6KhjzJ9s1',
    arrival_time: 1795308619,
    message_size: 370,
    forced_expire: false,
    sender: 'a@example.net',
    recipients: [{address: 'b@example.com', delay_reason: 'connection refused'}],
    ...more,
  })}\n`;

const all = async (...chunks: string[]) => {
  const mails = [];
  for await (const mail of queuedMails(Readable.from(chunks.map(chunk => Buffer.from(chunk))))) mails.push(mail);
  return mails;
};

test('a mail has its queue, id, time, size, sender and recipients, however the lines are cut', async t => {
  const text = line() + line({queue_name: 'active', sender: 'MAILER-DAEMON', recipients: []});
  const wanted = {queueId: '4jX9Tl6KhjzJ9s1', queuedAt: 1795308619, sizeBytes: 370};

  for (const at of [0, 1, 40, text.length - 1])
    t.deepEqual(await all(text.slice(0, at), text.slice(at)), [
      {...wanted, queueName: 'hold', sender: 'a@example.net', recipients: ['b@example.com']},
      {...wanted, queueName: 'active', sender: '', recipients: []},
    ]);
  t.deepEqual(await all(''), []);
});

test('a line that is none of postqueue’s ends the list with an error', async t => {
  for (const wrong of [
    'Mail queue is empty\n',
    '{"queue_name": "hold"\n',
    line({queue_id: '../etc'}),
    line({arrival_time: 'now'}),
    line({recipients: 'b@example.com'}),
  ])
    await t.throwsAsync(all(line(), wrong), undefined, wrong);
});
