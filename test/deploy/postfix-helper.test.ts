// The helper that acts on Postfix's hold queue for mfd, run as by systemd: a request on standard input, the answer on the output.

import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {readFile, symlink} from 'node:fs/promises';
import {connect} from 'node:net';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import test, {type ExecutionContext} from 'ava';
import {createPostfixPrograms} from '../../daemon/hold/postfix/postfix-programs.ts';
import {eventually} from '../helpers/eventually.ts';
import {isInstalled} from '../helpers/installed.ts';
import {type PrivatePostfix, postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {testFolder} from '../helpers/store.ts';
import {testWith} from '../helpers/test-with.ts';

const helper = fileURLToPath(new URL('../../daemon/deploy/postfix-helper', import.meta.url));

/** A Postfix that does not exist: a Postfix program that is run anyway reports this and does not exit with 64. */
const ask = (request: string | Buffer, configuration = '/nonexistent') => {
  const {status, stdout, stderr} = spawnSync(helper, {input: request, encoding: 'utf8', env: {MAIL_CONFIG: configuration}});
  return {status, stdout, stderr};
};

const refusal = (why: string) => ({status: 0, stdout: `mfd postfix-helper: ${why}\n\nexit 64\n`, stderr: ''});
const ids = (count: number): string => Array.from({length: count}, (_, n) => `4jX9d90rF${n}\n`).join('');

test('only what is offered can be asked for', t => {
  for (const verb of ['hold', 'delete', '', ' release', 'release -c', '-H', '$(id)', 'RELEASE'])
    t.deepEqual(
      ask(`${verb || 'ABCDEF'}\n4jX9d90rF0z\n`),
      refusal('unknown verb; known are release, requeue, discard, headers and body'),
      verb,
    );
  t.deepEqual(ask(''), refusal('the request is empty'));
});

test('what is no queue id is refused, and nothing is run for the others', t => {
  for (const verb of ['release', 'requeue', 'discard', 'headers', 'body']) {
    t.deepEqual(ask(`${verb}\n`), refusal('no queue id'), verb);
    for (const id of ['-', 'ALL', '5jX9d', 'x'.repeat(65)])
      t.regex(ask(`${verb}\n${id}\n`).stdout, /^mfd postfix-helper: a queue id .*\n\nexit 64\n$/, `${verb} ${id}`);
    for (const id of [
      '-ABCDEF',
      '../../etc/shadow',
      'ABC DEF',
      'ABCDEF;id',
      '`id`ABCDEF',
      'ABCDEF*',
      'ABCDÉFG',
      'ABC\0DEF',
      'ABCDEF\r',
    ])
      t.deepEqual(ask(`${verb}\n${id}\n`), refusal('a queue id is made of letters and digits'), `${verb} ${id}`);
  }
  t.deepEqual(ask('release\n4jX9d90rF0z\n-ABCDEF\n4jX9d90rF0z\n'), refusal('a queue id is made of letters and digits'));
});

test('a request that is too long is refused', t => {
  for (const verb of ['release', 'requeue', 'discard'])
    t.deepEqual(ask(`${verb}\n${ids(1001)}`), refusal('more than 1000 queue ids'));
  t.deepEqual(ask(`headers\n${ids(101)}`), refusal('more than 100 queue ids'));
  t.deepEqual(ask(`body\n${ids(2)}`), refusal('more than 1 queue ids'));
  t.deepEqual(ask(`release\n${'A'.repeat(66_000)}`), refusal('the request is too long'));
});

test('the last line is the exit status of the command, also when it cannot run', t => {
  for (const verb of ['release', 'requeue', 'discard', 'headers', 'body'])
    t.regex(ask(`${verb}\n4jX9d90rF0z`).stdout, /\n\nexit (1|127)\n$|^\nexit (1|127)\n$/, verb);
  t.regex(ask(`release\n${`${'A'.repeat(64)}\n`.repeat(1000)}`).stdout, /\nexit (1|127)\n$/);
});

const hasActivation = isInstalled('systemd-socket-activate');

(hasActivation ? test : test.skip)(
  `a request ends with the caller’s half of the connection${hasActivation ? '' : ' (systemd-socket-activate is not installed)'}`,
  async t => {
    const socket = join(await testFolder(t), 'helper.sock');
    const listener = spawn('systemd-socket-activate', ['--listen', socket, '--accept', '--inetd', helper], {stdio: 'ignore'});
    t.teardown(async () => {
      listener.kill();
      await once(listener, 'close');
    });
    await eventually(() => existsSync(socket));

    const answers: string[] = [];
    for (const request of ['hold\n4jX9d90rF0z\n', 'body\n-ABCDEF\n']) {
      const client = connect({path: socket, allowHalfOpen: true});
      client.end(request);
      answers.push(await text(client));
    }

    t.deepEqual(answers, [
      refusal('unknown verb; known are release, requeue, discard, headers and body').stdout,
      refusal('a queue id is made of letters and digits').stdout,
    ]);
  },
);

const withPostfix = testWith('Postfix', postfixMissing() ?? (isInstalled('setpriv') ? undefined : 'setpriv is not installed'));

/** A Postfix that holds all mail. */
const startHolding = async (t: ExecutionContext, settings: Record<string, string> = {}): Promise<PrivatePostfix> =>
  startPostfix(t, {
    settings: {
      ...settings,
      smtpd_recipient_restrictions: 'check_client_access static:HOLD, permit_mynetworks, reject',
      defer_transports: 'smtp',
    },
  });

const hold = async ({port, queue}: PrivatePostfix, subject: string): Promise<string> => {
  const before = new Set((await queue()).map(({queue_id}) => queue_id));
  await sendMail({port, from: 'a@outside.test', to: 'b@inside.test', raw: `Subject: ${subject}\r\n\r\n${subject} and all\r\n`});
  return (await queue()).find(({queue_id}) => !before.has(queue_id))?.queue_id ?? '';
};

/** Runs with exactly the capabilities of mfd-postfix@.service. */
const askAsUnit = async ({configDir}: PrivatePostfix, request: string): Promise<string> => {
  const unit = await readFile(new URL('../../daemon/deploy/systemd/mfd-postfix@.service', import.meta.url), 'utf8');
  const rights = /^CapabilityBoundingSet=(.+)$/m.exec(unit)?.[1]?.toLowerCase().replaceAll('cap_', '+').split(' ') ?? [];
  const {stdout} = spawnSync('setpriv', ['--no-new-privs', `--bounding-set=-all,${rights}`, helper], {
    input: request,
    encoding: 'utf8',
    env: {MAIL_CONFIG: configDir, PATH: process.env.PATH},
  });
  return stdout;
};

withPostfix('mail on hold is released, requeued and discarded by its queue id', async t => {
  const postfix = await startHolding(t);
  const [released, requeued, discarded, kept] = [
    await hold(postfix, 'one'),
    await hold(postfix, 'two'),
    await hold(postfix, 'three'),
    await hold(postfix, 'four'),
  ];

  const answers = [
    await askAsUnit(postfix, `release\n${released}\n4jX9d90rF0zNONE\n`),
    await askAsUnit(postfix, `requeue\n${requeued}\n`),
    await askAsUnit(postfix, `discard\n${discarded}\n`),
  ];

  t.deepEqual(answers, [
    `postsuper: ${released}: released from hold\npostsuper: Released from hold: 1 message\n\nexit 0\n`,
    `postsuper: ${requeued}: requeued\npostsuper: Requeued: 1 message\n\nexit 0\n`,
    `postsuper: ${discarded}: removed\npostsuper: Deleted: 1 message\n\nexit 0\n`,
  ]);
  const held = (await postfix.queue()).filter(({queue_name}) => queue_name === 'hold');
  t.deepEqual(
    held.map(({queue_id}) => queue_id),
    [kept],
  );
});

withPostfix('headers are shown of many mails, the body of one, to the byte', async t => {
  const postfix = await startHolding(t);
  const [first, second] = [await hold(postfix, 'one'), await hold(postfix, 'two')];

  const headers = await askAsUnit(postfix, `headers\n${first}\n${second}\n`);
  const body = await askAsUnit(postfix, `body\n${second}\n`);
  const absent = await askAsUnit(postfix, 'body\n4jX9d90rF0zNONE\n');

  t.deepEqual(headers.match(/^Subject: .*$/gm), ['Subject: one', 'Subject: two']);
  t.false(headers.includes('and all'));
  t.true(headers.endsWith('\n\nexit 0\n'));
  const {stdout} = await postfix.command('postcat', ['-bhq', second]);
  t.is(body, `${stdout}\nexit 0\n`);
  t.true(body.includes('two and all'));
  t.is(absent, '\nexit 1\n');
});

withPostfix('mail of another queue is not shown, nor what a link in the hold queue leads to', async t => {
  const postfix = await startHolding(t);
  const [kept, deferred] = [await hold(postfix, 'kept'), await hold(postfix, 'deferred')];
  await postfix.command('postsuper', ['-H', '-', 'hold'], `${deferred}\n`);
  await symlink(join(postfix.queueDir, 'hold', kept), join(postfix.queueDir, 'hold', 'LINKLINK'));
  await symlink(join(postfix.queueDir, 'hold'), join(postfix.queueDir, 'hold', 'L'));
  const isElsewhere = (await postfix.command('postcat', ['-bhq', deferred])).stdout.includes('deferred and all');

  const answers = [
    await askAsUnit(postfix, `body\n${deferred}\n`),
    await askAsUnit(postfix, `headers\n${deferred}\n`),
    await askAsUnit(postfix, 'body\nLINKLINK\n'),
  ];
  const both = await askAsUnit(postfix, `headers\n${deferred}\n${kept}\n`);

  t.true(isElsewhere);
  t.deepEqual(answers, Array(3).fill('\nexit 1\n'));
  t.deepEqual(both.match(/^Subject: .*$/gm), ['Subject: kept']);
});

for (const [settings, title] of [
  [{hash_queue_names: 'deferred, hold', hash_queue_depth: '3'}, 'long'],
  [{hash_queue_names: 'hold', hash_queue_depth: '2', enable_long_queue_ids: 'no'}, 'short'],
] as const)
  withPostfix(`mail in folders of the hold queue is shown as well, with ${title} ids`, async t => {
    const postfix = await startHolding(t, settings);
    const [first, second] = [await hold(postfix, 'one'), await hold(postfix, 'two')];

    const headers = await askAsUnit(postfix, `headers\n${first}\n4jX9d90rF0zNONE\n${second}\n`);
    const body = await askAsUnit(postfix, `body\n${second}\n`);

    t.deepEqual(headers.match(/^Subject: .*$/gm)?.toSorted(), ['Subject: one', 'Subject: two']);
    t.true(body.includes('two and all'));
    // A node that runs the programs itself, or through sudo, finds them by their names.
    const programs = createPostfixPrograms({configDir: postfix.configDir});
    t.deepEqual((await programs.headers([first, second])).match(/^Subject: .*$/gm), ['Subject: one', 'Subject: two']);
    t.true((await text((await programs.body(first)).stdout)).includes('one and all'));
  });
