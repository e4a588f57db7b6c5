// First session: from an existing Postfix to the first released mail, with `mfd setup postfix` and the API alone.
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {formatHostPort} from '../../shared/host-port.ts';
import {startDaemon} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';
import {type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {mfdFile, run} from '../helpers/node.ts';
import {type PrivatePostfix, postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {startSmtpSink} from '../helpers/smtp-sink.ts';
import {serialWith} from '../helpers/test-with.ts';

const withPostfix = serialWith('Postfix', postfixMissing());

interface Session {
  node: MailNode;
  postfix: PrivatePostfix;
  ready: string;
  setup(...args: string[]): Promise<string>;
  send(to: string, headers?: string): Promise<string>;
}

const start = async (t: ExecutionContext, {isChrooted = false} = {}): Promise<Session> => {
  const postfix = await startPostfix(t, {
    isStarted: false,
    settings: {smtpd_relay_restrictions: 'permit_mynetworks, reject_unauth_destination', mynetworks: '192.0.2.0/24'},
  });
  if (isChrooted)
    for (const service of [`127.0.0.1:${postfix.port}/inet`, 'rewrite/unix', 'cleanup/unix', 'flush/unix'])
      await postfix.command('postconf', ['-F', `${service}/chroot=y`]);
  const node = await startMailNode(t);
  await node.stop();
  const setup = async (...args: string[]): Promise<string> => {
    // An Rspamd on this machine must not affect the test.
    const rspamd = ['--rspamd-dir', join(node.data, 'none')];
    const {code, stdout, stderr} = await run(mfdFile, [
      'setup',
      'postfix',
      '--data',
      node.data,
      '--config-dir',
      postfix.configDir,
      ...rspamd,
      ...args,
    ]);
    t.is(code, 0, stderr);
    return stdout;
  };
  await setup('--apply');
  const ready = await startDaemon(t, node.data).ready;
  await postfix.start();
  return {
    node,
    postfix,
    ready,
    setup,
    async send(to, headers = '') {
      const raw = `${headers}Subject: hello\r\nMessage-ID: <1@example.net>\r\nFrom: ada@example.net\r\n\r\nHello\r\n`;
      const {reply} = await sendMail({port: postfix.port, from: 'ada@example.net', to, raw});
      return `${reply.code} ${reply.text}`;
    },
  };
};

for (const isChrooted of [false, true])
  withPostfix(`after setup, mail is relayed, held and released${isChrooted ? ', in a chroot too' : ''}`, async t => {
    const {node, postfix, ready, send} = await start(t, {isChrooted});
    const sink = await startSmtpSink(t);
    const foreign = await send('ben@nobody.example');

    await node.createDomain({name: 'protected.example', backend_servers: [formatHostPort(sink.server)]});
    const relayed = await send('ben@protected.example');
    await eventually(() => sink.mails.length === 1);
    const held = await send('ben@protected.example', 'X-Spam-Score: 8.5\r\n');
    const mail = await eventually(async () => (await node.held())[0]);
    const outcome = await node.act('release', mail);

    t.regex(ready, / milter=unix:\S+\/mfd\/milter\.sock socketmap=unix:\S+\/mfd\/socketmap\.sock$/);
    t.regex(foreign, /^554 5\.7\.1 .*Relay access denied/);
    t.regex(relayed, /^250 /, await postfix.log());
    t.regex(held, /^250 /);
    t.is(mail.score, 8.5);
    t.is(outcome.status, 200, String(outcome.body));
    await eventually(() => sink.mails.length === 2);
    t.regex(String(sink.mails[1]?.content), /Subject: hello/);
    t.notRegex(await postfix.log(), /fatal|panic/);
  });

withPostfix('after undo, Postfix is what it was', async t => {
  const {postfix, setup, send} = await start(t);

  await setup('--undo');
  await postfix.command('postfix', ['reload']);

  t.regex(await send('ben@example.com'), /^554 5\.7\.1 .*Relay access denied/);
  t.notRegex(await readFile(join(postfix.configDir, 'main.cf'), 'utf8'), /mfd\/(milter|socketmap)\.sock/);
});
