// Routing tables: a real Postfix asks a real node for its domains and their next hops.
import type {ExecutionContext} from 'ava';
import {formatHostPort} from '../../shared/host-port.ts';
import {eventually} from '../helpers/eventually.ts';
import {type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {closedPort} from '../helpers/ports.ts';
import {type PrivatePostfix, postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {connect, sendMail} from '../helpers/smtp-client.ts';
import {startSmtpSink} from '../helpers/smtp-sink.ts';
import {makeSocketFolder} from '../helpers/socket-folder.ts';
import {serialWith} from '../helpers/test-with.ts';

const withPostfix = serialWith('Postfix', postfixMissing());

const table = (name: string): string => `socketmap:unix:mfd/socketmap.sock:${name}`;
const raw = 'Subject: routed\r\n\r\nHello\r\n';

interface Routed {
  node: MailNode;
  postfix: PrivatePostfix;
  /** Postfix's reply to a mail, or to a recipient alone. */
  send(to: string): Promise<string>;
  rcpt(to: string): Promise<string>;
}

const start = async (t: ExecutionContext, settings: Record<string, string> = {}): Promise<Routed> => {
  const postfix = await startPostfix(t, {
    isStarted: false,
    settings: {
      relay_domains: table('relay_domains'),
      transport_maps: table('transport_maps'),
      smtpd_relay_restrictions: 'reject_unauth_destination',
      ...settings,
    },
  });
  const folder = await makeSocketFolder(postfix);
  const node = await startMailNode(t, {config: {postfix: {socketmap_listen: `unix:${folder}/socketmap.sock`}}});
  await postfix.start();

  // A Postfix process caches the answers about a sender and a recipient for its lifetime, so each mail has another sender.
  let count = 0;
  const sender = () => {
    count += 1;
    return `ada${count}@example.net`;
  };
  return {
    node,
    postfix,
    async send(to) {
      const {reply} = await sendMail({port: postfix.port, from: sender(), to, raw});
      return `${reply.code} ${reply.text}`;
    },
    async rcpt(to) {
      const client = await connect(postfix.port);
      await client.cmd('EHLO client.test');
      await client.cmd(`MAIL FROM:<${sender()}>`);
      const {code, text} = await client.cmd(`RCPT TO:<${to}>`);
      client.destroy();
      return `${code} ${text}`;
    },
  };
};

withPostfix('takes mail for a domain as soon as the API has created it, and relays it to its server', async t => {
  const {node, send, rcpt} = await start(t);
  const sink = await startSmtpSink(t);

  const before = await rcpt('ben@new.example');
  await node.createDomain({name: 'new.example', backend_servers: [formatHostPort(sink.server)]});
  const after = await send('Ben+tag@New.Example');

  t.regex(before, /^554 5\.7\.1 .*Relay access denied/);
  t.regex(after, /^250 /);
  await eventually(() => sink.mails.length === 1);
  t.is(sink.mails[0]?.recipients[0], 'Ben+tag@New.Example');
});

withPostfix('does not take mail for a subdomain, or for an outbound domain', async t => {
  const {node, rcpt} = await start(t);
  await node.createDomain({name: 'out.example', direction: 'outbound'});

  t.regex(await rcpt('ben@example.com'), /^250 /);
  for (const to of [
    'ben@sub.example.com',
    'ben@com',
    'ben@out.example',
    'ben%example.com@example.org',
    '@example.org:ben@example.org',
  ])
    t.regex(await rcpt(to), /^554 5\.7\.1 /, to);
});

withPostfix('tries the second server when the first is down', async t => {
  const {node, send} = await start(t);
  const backend_servers = [formatHostPort(await closedPort()), formatHostPort(node.sink.server)];
  await node.updateDomain(node.domainId, {backend_servers});

  t.regex(await send('ben@example.com'), /^250 /);

  await eventually(() => node.sink.mails.length === 1);
});

withPostfix('makes mail to an inactive domain wait, what is in its queue too, until the domain is active', async t => {
  const {node, postfix, send} = await start(t);
  const other = await startSmtpSink(t);
  await node.createDomain({name: 'other.example', backend_servers: [formatHostPort(other.server)]});
  await node.updateDomain(node.domainId, {backend_servers: [formatHostPort(await closedPort())]});
  await send('ben@example.com');
  const reason = async () => (await postfix.queue()).map(({recipients}) => recipients[0]?.delay_reason).join();
  const tryAgain = async () => {
    // The queue manager caches the last destination for 30 s: another mail replaces it.
    await send('cid@other.example');
    await postfix.command('postqueue', ['-f']);
  };
  await eventually(async () => (await reason()).includes('refused'));

  await node.updateDomain(node.domainId, {active: false, backend_servers: [formatHostPort(node.sink.server)]});

  t.is(
    await send('ben@example.com'),
    '450 4.7.1 <ben@example.com>: Recipient address rejected: Mail of this domain is not taken at present',
  );
  await eventually(async () => {
    await tryAgain();
    return (await reason()).includes('not taken at present');
  });
  t.is(node.sink.mails.length, 0);
  await node.updateDomain(node.domainId, {active: true});
  await eventually(async () => {
    await tryAgain();
    return node.sink.mails.length === 1;
  });
  t.regex(await send('ben@example.com'), /^250 /);
});

withPostfix('makes mail wait while the node is away, and asks it again when it is back', async t => {
  const {node, rcpt} = await start(t);
  t.regex(await rcpt('ben@example.com'), /^250 /);

  await node.stop();
  const away = [await rcpt('ben@example.com'), await rcpt('ben@example.org')];
  await node.start();

  for (const reply of away) t.regex(reply, /^451 4\.3\.0 .*Temporary lookup failure/);
  t.regex(await rcpt('ben@example.com'), /^250 /);
  t.regex(await rcpt('ben@example.org'), /^554 /);
});

withPostfix('refuses recipients that the server of the domain refuses, and no others', async t => {
  const {node, rcpt} = await start(t, {relay_recipient_maps: table('relay_recipient_maps')});
  node.sink.behave({
    recipients: {
      'nobody@example.com': {code: 550, text: '5.1.1 No such user'},
      'busy@example.com': {code: 450, text: '4.2.1 Mailbox busy'},
    },
  });

  t.regex(await rcpt('ben@example.com'), /^250 /);
  t.regex(await rcpt('nobody@example.com'), /^550 5\.1\.1 .*User unknown in relay recipient table/);
  t.regex(await rcpt('busy@example.com'), /^451 4\.3\.0 /);
  t.deepEqual(node.sink.mails, []);
});

withPostfix('takes mail neither for a wrong table name nor for what no key can be', async t => {
  const {rcpt} = await start(t, {relay_domains: table('relay_domain')});

  t.regex(await rcpt('ben@example.com'), /^451 4\.3\.0 /);
});
