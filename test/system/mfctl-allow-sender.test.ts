// release --allow-sender, allow and block: the built program against a built node.
import test from 'ava';
import {heldIds, send} from '../helpers/cli/sent-mail.ts';
import {holdAll, startMailNode} from '../helpers/mail-node.ts';
import {sendMail} from '../helpers/smtp-client.ts';

test('later mail of an allowed sender is relayed, that of another is held as before', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  const raw = 'Subject: news\r\n\r\ntext\r\n';
  await send(node, raw);
  await sendMail({port: node.smtpPort, from: '', to: ['a@example.com'], raw});

  const released = await node.mfctl(['quarantine', 'release', '--all-matching', '--allow-sender', '--yes']);
  const again = await send(node, raw);
  const other = await sendMail({port: node.smtpPort, from: 'other@sender.example', to: ['a@example.com'], raw});
  const filters = await node.mfctl(['domain', 'filters', 'list', 'example.com', '-o', 'json']);
  const [id = '', ...more] = await heldIds(node);
  const dry = await node.mfctl(['quarantine', 'release', id, '--allow-sender', '--dry-run']);

  t.is(released.code, 0, released.stderr);
  t.regex(released.stderr, /warning: no sender is allowed for \S+: a bounce/);
  t.regex(released.stderr, /^allowed: sender@sender\.example in example\.com \(filter \d+\)$/m);
  t.deepEqual([again.code, other.reply.code, more], [250, 250, []]);
  t.is(node.sink.mails.length, 3, 'two released, one relayed');
  t.like(JSON.parse(filters.stdout), [{action: 'allow', match: 'sender', pattern: 'sender@sender.example'}]);
  t.regex(dry.stderr, /^to be allowed: other@sender\.example in example\.com$/m);
});

test('later mail of the sender of a held mail is refused once he is blocked, and relayed once he is allowed', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  const raw = 'Subject: news\r\n\r\ntext\r\n';
  const from = (sender: string) => sendMail({port: node.smtpPort, from: sender, to: ['a@example.com'], raw});
  await from('bad@sender.example');
  const [bad = ''] = await heldIds(node);
  const blocked = await node.mfctl(['quarantine', 'block', bad]);
  await from('good@sender.example');
  const good = (await heldIds(node)).find(id => id !== bad) ?? '';
  const allowed = await node.mfctl(['quarantine', 'allow', good, '--all-domains']);

  const replies = [await from('bad@sender.example'), await from('good@sender.example')];

  t.deepEqual([blocked.code, allowed.code], [0, 0], blocked.stderr + allowed.stderr);
  t.deepEqual(
    replies.map(({reply}) => reply.code),
    [550, 250],
  );
  t.is(node.sink.mails.length, 1, 'the second one of the allowed sender');
  t.deepEqual((await heldIds(node)).toSorted(), [bad, good].toSorted());
});
