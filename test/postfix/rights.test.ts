// Access of a node to operations that Postfix allows only to root: through the helper, through sudo, or not at all.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {buffer} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import type {ExecutionContext} from 'ava';
import {createPostfixPrograms, PostfixRefusal} from '../../daemon/hold/postfix/postfix-programs.ts';
import {eventually} from '../helpers/eventually.ts';
import {programsMissing} from '../helpers/installed.ts';
import {type PrivatePostfix, postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {holdEverything, startPostfixNode} from '../helpers/postfix-node.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {testFolder} from '../helpers/store.ts';
import {serialWith} from '../helpers/test-with.ts';

const raw =
  'Subject: rights\r\nFrom: <a@example.net>\r\nMessage-Id: <1@example.net>\r\nDate: Sun, 1 Mar 2026 12:00:00 +0000\r\n\r\nbody\r\n';

/** Starts the helper for each connection, like systemd. */
const startHelper = async (t: ExecutionContext, {configDir}: Pick<PrivatePostfix, 'configDir'>): Promise<string> => {
  const socket = join(await testFolder(t), 'helper.sock');
  const helper = fileURLToPath(new URL('../../daemon/deploy/postfix-helper', import.meta.url));
  const args = ['--listen', socket, '--accept', '--inetd', `--setenv=MAIL_CONFIG=${configDir}`, helper];
  const listener = spawn('systemd-socket-activate', args, {stdio: ['ignore', 'ignore', 'pipe']});
  t.teardown(async () => {
    const ended = once(listener, 'exit');
    listener.kill('SIGTERM');
    await ended;
  });
  await once(listener.stderr, 'data');
  return socket;
};

serialWith('Postfix', postfixMissing() ?? programsMissing(['systemd-socket-activate']))(
  'through the helper a node reads, shows, releases and discards',
  async t => {
    // The helper starts before the node, as with systemd.
    const node = await startPostfixNode(t, {
      settings: {...holdEverything, smtpd_recipient_restrictions: 'permit'},
      helper: startHelper,
    });
    for (let n = 0; n < 3; n += 1) await node.mail(raw);
    const [one, two, three] = await node.untilHeld(3);

    const released = await node.act('release', one as never);
    const discarded = await node.act('discard', two as never);

    t.deepEqual([one?.subject, released.status, discarded.status], ['rights', 200, 200]);
    t.true((await node.body(three as never)).toString().endsWith('\r\n\r\nbody\r\n'));
    await eventually(() => node.sink.mails.length === 1);
    t.deepEqual(await node.onHold(), [three?.queue_id ?? '']);
  },
);

serialWith('Postfix', postfixMissing())(
  'without the right mail is listed, an action is answered 503, and the log says what is to be started',
  async t => {
    const node = await startPostfixNode(t, {settings: holdEverything, helper: async () => '/nonexistent/helper.sock'});
    await node.mail(raw);
    const [held] = await node.untilHeld(1);

    const {status, json} = await node.act('release', held as never);

    t.deepEqual([held?.subject, held?.sender], ['', 'ada@example.net']);
    t.is(status, 503);
    t.is(json.error.code, 'unavailable');
    t.regex(json.error.detail, /Nothing was done/);
    t.notRegex(json.error.detail, /nonexistent/);
    t.regex(node.log(), /nobody runs it as root at \/nonexistent\/helper\.sock: systemctl start mfd-postfix\.socket/);
    t.is((await node.held()).length, 1);
  },
);

serialWith('Postfix', postfixMissing() ?? programsMissing(['/usr/bin/sudo']))(
  'sudo runs postsuper and postcat, and never asks',
  async t => {
    const postfix = await startPostfix(t, {settings: {relay_domains: 'example.com', ...holdEverything}});
    const programs = createPostfixPrograms({configDir: postfix.configDir, isRoot: false});
    await sendMail({port: postfix.port, from: 'a@example.net', to: 'b@example.com', raw});
    const [mail] = await eventually(async () => {
      const queue = await postfix.queue();
      return queue.length === 1 && queue;
    });
    const id = mail?.queue_id ?? '';

    const body = await programs.body(id);
    const [shown, headers] = [await buffer(body.stdout), await programs.headers([id])];
    const [changed, unknown] = [
      await programs.change('discard', [id, 'BCDFGHJKLM']),
      await programs.change('release', ['BCDFGHJKLM']),
    ];

    t.true(shown.toString().endsWith('\n\nbody\n'));
    t.regex(headers, /^Subject: rights$/m);
    t.deepEqual([...changed], [id]);
    t.deepEqual([...unknown], []);
    await t.throwsAsync(async () => programs.change('discard', ['ALL']), {message: /no queue id/});
  },
);

serialWith('Postfix', postfixMissing())('a Postfix that is none is said to be', async t => {
  const programs = createPostfixPrograms({configDir: '/nonexistent'});

  const error = await t.throwsAsync(async () => programs.change('release', ['BCDFGHJKLM']), {instanceOf: PostfixRefusal});
  t.regex(String((error.details.cause as Error).message), /^postsuper ended with status 1: /);
});
