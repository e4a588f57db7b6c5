// STARTTLS with the certificate that a node creates for itself.
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {connect as connectSocket, type Socket} from 'node:net';
import {connect as connectTls} from 'node:tls';
import test from 'ava';
import {splitTrace, startMailNode} from '../helpers/mail-node.ts';
import {connect} from '../helpers/smtp-client.ts';

const fqdn = 'mx1.example.org';
const raw = 'Subject: over TLS\r\n\r\nhello\r\n';

test('a client that trusts the CA of the node gets its mail through over TLS, to the name of the node', async t => {
  const node = await startMailNode(t, {config: {fqdn}});
  const client = await connect(node.smtpPort);
  t.teardown(() => client.destroy());
  const greeted = await client.cmd('EHLO client.test');

  const {subject} = await client.startTls({ca: readFileSync(node.ca_file), servername: fqdn});
  const again = await client.cmd('EHLO client.test');
  await client.cmd('MAIL FROM:<ada@example.net>');
  await client.cmd('RCPT TO:<ben@example.com>');
  const reply = await client.data(raw);

  t.regex(client.greeting.text, /^mx1\.example\.org ESMTP/);
  t.true(greeted.text.split('\n').includes('STARTTLS'));
  t.is(subject, fqdn);
  t.false(again.text.split('\n').includes('STARTTLS'));
  t.is(reply.code, 250);
  const {trace, rest} = splitTrace(node.sink.mails[0]?.content ?? Buffer.alloc(0));
  t.regex(trace, /\bby mx1\.example\.org with\s+ESMTPS\b/);
  t.is(rest.toString(), raw);
});

test('a client that wants another name or trusts another CA is let down', async t => {
  const node = await startMailNode(t, {config: {fqdn}});
  const ca = readFileSync(node.ca_file);

  for (const trust of [{ca, servername: 'mx2.example.org'}, {servername: fqdn}]) {
    const client = await connect(node.smtpPort);
    t.teardown(() => client.destroy());
    await client.cmd('EHLO client.test');
    await t.throwsAsync(client.startTls(trust), {message: /certificate|altnames/i});
  }
});

test('what a client says before STARTTLS counts no more after it', async t => {
  const node = await startMailNode(t);
  const client = await connect(node.smtpPort);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');
  await client.cmd('MAIL FROM:<eve@example.net>');
  await client.cmd('RCPT TO:<ben@example.com>');

  await client.startTls();
  await client.cmd('EHLO client.test');
  const {code} = await client.cmd('DATA');

  t.is(code, 503);
  t.is(node.sink.mails.length, 0);
});

test('commands in the same packet as STARTTLS are not taken for those of the encrypted session', async t => {
  const node = await startMailNode(t);
  const socket = connectSocket(node.smtpPort, '127.0.0.1');
  t.teardown(() => void socket.destroy());
  const said = async (on: Socket, what: string, wanted: RegExp) => {
    on.write(what);
    for (let text = ''; !wanted.test(text); ) text += String(await once(on, 'data'));
  };
  await said(socket, '', /^220 /m);
  await said(socket, 'EHLO client.test\r\n', /^250 /m);
  await said(socket, 'STARTTLS\r\nEHLO eve.test\r\nMAIL FROM:<eve@example.net>\r\n', /^220 /m);

  const encrypted = connectTls({socket, rejectUnauthorized: false});
  await once(encrypted, 'secureConnect');
  // EHLO must be repeated before anything else (RFC 3207 section 4.2).
  await said(encrypted, 'RCPT TO:<ben@example.com>\r\n', /^503 /m);

  t.deepEqual(node.sink.steps, []);
});
