// Addresses that other mail servers take, on their whole way: SMTP, hold, list, filters, release, backend.
import test, {type ExecutionContext} from 'ava';
import {formatHostPort} from '../../shared/host-port.ts';
import {type Held, holdAll, type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {startScriptedServer} from '../helpers/scripted-server.ts';
import {startSmtpSink} from '../helpers/smtp-sink.ts';

const plain = 'Subject: plain\r\n\r\nhello\r\n';

/** A node that holds everything, with a backend and smarthost that takes every address. */
const start = async (t: ExecutionContext) => {
  const {server, lines} = await startScriptedServer(t, () => undefined);
  const node = await startMailNode(t, {
    config: {smtp: {smarthost: formatHostPort(server)}},
    domain: {...holdAll, direction: 'both', backend_servers: [formatHostPort(server)]},
  });
  return {node, lines, envelopes: () => lines.filter(line => /^(MAIL|RCPT)/.test(line))};
};

const listed = async (node: MailNode, option: 'sender' | 'recipient', value: string): Promise<Held[]> => {
  const byKey = await node.held(`${option}=${encodeURIComponent(value)}`);
  const {stdout, stderr} = await node.mfctl(['quarantine', 'list', `--${option}`, value, '-o', 'json']);
  const byHand = JSON.parse(stdout || `"${stderr}"`);
  return JSON.stringify(byHand) === JSON.stringify(byKey) ? byKey : [];
};

for (const [sender, recipient] of [
  ['a..b@example.net', 'A..b@example.com'],
  ['ab.@example.net', '.ab.@example.com'],
  ['a@foo_bar.test', 'ben_@example.com'],
  ['"odd user"@example.net', '"Odd  user"@example.com'],
  ['"\\"a\\\\b\\""@_x.foo_bar.test', '"a,b"@example.com'],
  ['ben@example.com', 'a..@foo_bar.test'],
] as const)
  test(`mail from ${sender} to ${recipient} is held, found, filtered and released as it came`, async t => {
    const {node, envelopes} = await start(t);
    await node.send(plain, {from: 'other@example.net'});

    const {code} = await node.send(plain, {from: sender, to: recipient});

    t.is(code, 250);
    for (const [option, value] of [
      ['sender', sender],
      ['sender', sender.toUpperCase()],
      ['sender', sender.slice(sender.lastIndexOf('@') + 1).toUpperCase()],
      ['recipient', recipient.toUpperCase()],
    ] as const) {
      const found = (await listed(node, option, value)).find(mail => mail.sender === sender);
      t.deepEqual(found?.recipients, [recipient], `${option} ${value}`);
    }
    const [mail] = (await node.held(`recipient=${encodeURIComponent(recipient)}`)) as [Held];
    const {code: released, stderr} = await node.mfctl(['quarantine', 'release', `${mail.node_id}/${mail.queue_id}`]);
    t.is(released, 0, stderr);
    t.deepEqual(envelopes().slice(-2), [`MAIL FROM:<${sender}>`, `RCPT TO:<${recipient}>`]);

    const add = await node.mfctl(['domain', 'filters', 'add', 'example.com', '--block', '--sender', sender]);
    t.is(add.code, 0, add.stderr);
    t.is((await node.send(plain, {from: sender, to: recipient})).code, 550);
  });

test('a mail that came with SMTPUTF8 is released to a backend without it, unless its header or an address is not ASCII', async t => {
  const [withIt, without] = [await startSmtpSink(t), await startSmtpSink(t, {hasUtf8: false})];
  const node = await startMailNode(t, {domain: {...holdAll, backend_servers: [formatHostPort(withIt.server)]}});
  const parameters = 'BODY=8BITMIME SMTPUTF8';
  await node.send(`Subject: ascii\r\n\r\nä\r\n`, {parameters, from: 'a@bücher.test'});
  await node.send('Subject: ünï\r\n\r\nhello\r\n', {parameters});
  await node.send(plain, {parameters, from: 'jürgen@example.net'});
  await node.updateDomain(node.domainId, {backend_servers: [formatHostPort(without.server)]});

  const [sender, header, ascii] = (await node.held()) as [Held, Held, Held];
  const answers = [];
  for (const mail of [sender, header, ascii]) answers.push(await node.act('release', mail));

  t.deepEqual(
    answers.map(({status, json}) => [status, json.error?.fields?.[0].detail]),
    [
      [502, '550 5.6.7 The mail server of the recipient does not support SMTPUTF8'],
      [502, '550 5.6.7 The mail server of the recipient does not support SMTPUTF8'],
      [200, undefined],
    ],
  );
  t.deepEqual(
    without.mails.map(({isUtf8, isEightBit}) => ({isUtf8, isEightBit})),
    [{isUtf8: false, isEightBit: true}],
  );
  await node.updateDomain(node.domainId, {backend_servers: [formatHostPort(withIt.server)]});
  for (const mail of [sender, header]) t.is((await node.act('release', mail)).status, 200);
  t.true(withIt.mails.every(({isUtf8}) => isUtf8));
});
