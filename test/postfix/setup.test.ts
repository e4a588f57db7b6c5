// `mfd setup postfix` on a real Postfix with an administrator's own configuration.
import {execFile} from 'node:child_process';
import {appendFile, chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import type {ExecutionContext} from 'ava';
import {parse} from 'yaml';
import {mfdFile, nodeFolder, run} from '../helpers/node.ts';
import {type PrivatePostfix, postfixMissing, startPostfix} from '../helpers/postfix.ts';
import type {Ran} from '../helpers/program.ts';
import {serialWith} from '../helpers/test-with.ts';

const withPostfix = serialWith('Postfix', postfixMissing());

/** Settings in the style of administrators: comments, continuation lines, a comment within a value, tabs. */
const ownLines = `
# our filters
smtpd_milters = inet:localhost:8891,
  # the other one
\t{ inet:localhost:8892, connect_timeout=10s,
\t  default_action=accept }
relay_domains=example.org
    $mydestination
transport_maps =   inline:{example.org=relay:[192.0.2.1]}
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
`;

interface Setting {
  postfix: PrivatePostfix;
  data: string;
  rspamdDir: string;
  setup(...args: string[]): Promise<Ran>;
  /** The value of a parameter, on one line. */
  value(name: string): Promise<string>;
  /** All files that could have been written, by path. */
  files(): Promise<Record<string, string>>;
}

const start = async (t: ExecutionContext, lines = ownLines): Promise<Setting> => {
  const postfix = await startPostfix(t, {isStarted: false});
  await postfix.command('postconf', ['-X', 'enable_long_queue_ids']);
  await appendFile(join(postfix.configDir, 'main.cf'), lines);
  const {root, xdgConfigHome} = await nodeFolder(t);
  const data = join(root, 'data');
  const made = await run(mfdFile, ['init', '--data', data], {env: {XDG_CONFIG_HOME: xdgConfigHome}});
  t.is(made.code, 0, made.stderr);
  const rspamdDir = join(root, 'rspamd');
  await mkdir(rspamdDir);

  const filesIn = async (folder: string): Promise<[string, string][]> => {
    const entries = await readdir(folder, {recursive: true, withFileTypes: true});
    const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
    return Promise.all(paths.map(async path => [path, `${(await stat(path)).mode.toString(8)} ${await readFile(path, 'utf8')}`]));
  };
  return {
    postfix,
    data,
    rspamdDir,
    setup: async (...args) =>
      run(mfdFile, ['setup', 'postfix', '--data', data, '--config-dir', postfix.configDir, '--rspamd-dir', rspamdDir, ...args]),
    value: async name => (await postfix.command('postconf', ['-h', name])).stdout.toString().trim(),
    files: async () => {
      const node: [string, string] = [join(data, 'mfd.yaml'), await readFile(join(data, 'mfd.yaml'), 'utf8')];
      const all = [...(await filesIn(postfix.configDir)), ...(await filesIn(rspamdDir)), node];
      return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    },
  };
};

const socketmap = 'socketmap:unix:mfd/socketmap.sock';

withPostfix('what would be written is shown, and nothing is', async t => {
  const {setup, files, postfix, data} = await start(t);
  const before = await files();

  const {code, stdout, stderr} = await setup();

  t.is(code, 0, stderr);
  t.deepEqual(await files(), before);
  t.false((await readdir(postfix.queueDir)).includes('mfd'));
  for (const line of [
    '  - smtpd_milters = inet:localhost:8891, { inet:localhost:8892, connect_timeout=10s, default_action=accept }',
    `  + relay_domains = example.org $mydestination, ${socketmap}:relay_domains`,
    `  +   milter_listen: unix:${postfix.queueDir}/mfd/milter.sock`,
    `  +   log_file: ${postfix.logFile}`,
    `  mfd setup postfix --data ${data} --config-dir ${postfix.configDir} --apply`,
  ])
    t.true(stdout.split('\n').includes(line), `${line} in ${stdout}`);
});

withPostfix('--apply adds to what is there, makes a folder for the sockets, and says how to go on', async t => {
  const {setup, value, postfix, data} = await start(t);
  const node = await readFile(join(data, 'mfd.yaml'), 'utf8');

  const {code, stdout, stderr} = await setup('--apply');

  t.is(code, 0, stderr);
  t.is(
    await value('smtpd_milters'),
    'inet:localhost:8891, { inet:localhost:8892, connect_timeout=10s, default_action=accept }, { unix:mfd/milter.sock, default_action=tempfail }',
  );
  t.is(await value('relay_domains'), `example.org $mydestination, ${socketmap}:relay_domains`);
  t.is(await value('transport_maps'), `inline:{example.org=relay:[192.0.2.1]}, ${socketmap}:transport_maps`);
  t.is(await value('relay_recipient_maps'), '');
  t.is(await value('enable_long_queue_ids'), 'yes');
  t.is((await stat(join(postfix.queueDir, 'mfd'))).mode & 0o7777, 0o2750);
  const written = await readFile(join(data, 'mfd.yaml'), 'utf8');
  t.true(written.startsWith(node));
  t.is(parse(written).postfix.config_dir, postfix.configDir);
  t.is((await stat(join(data, 'mfd.yaml'))).mode & 0o777, 0o600);
  t.is((await stat(join(postfix.configDir, 'mfd-setup.json'))).mode & 0o777, 0o600);
  t.regex(stdout, /1\. restart mfd[\s\S]*2\. postfix -c \S+ reload/);
  t.is((await run(mfdFile, ['check-config', '--data', data])).code, 0);
});

withPostfix('doing it twice changes nothing, and undoing gives every file back byte for byte', async t => {
  const {setup, files, postfix} = await start(t);
  await appendFile(
    join(postfix.configDir, 'master.cf'),
    '127.0.0.1:10025 inet n - n - 10 smtpd\n  # back from the filter\n  -o content_filter=\n',
  );
  await postfix.command('postconf', ['-X', 'smtpd_milters']);
  const before = await files();

  const first = await setup('--apply');
  const applied = await files();
  const second = await setup('--apply');
  const again = await files();
  const undone = await setup('--undo');

  t.deepEqual([first.code, second.code, undone.code], [0, 0, 0], first.stderr + second.stderr + undone.stderr);
  t.regex(applied[join(postfix.configDir, 'master.cf')] ?? '', /^ +-o smtpd_milters=$/m);
  t.regex(second.stdout, /^Nothing to change\./);
  t.deepEqual(again, applied);
  t.deepEqual(await files(), before);
  t.false((await readdir(postfix.queueDir)).includes('mfd'));
  t.regex(undone.stdout, /new ids at the next reload[\s\S]*1\. postfix -c \S+ reload[\s\S]*2\. restart mfd/);
  const nothing = await setup('--undo');
  t.is(nothing.code, 1);
  t.regex(nothing.stderr, /^mfd: there is nothing to undo/);
});

withPostfix('what an administrator has changed since stays when it is undone', async t => {
  const {setup, value, postfix, data} = await start(t);
  await setup('--apply');
  const milters = await value('smtpd_milters');
  await postfix.command('postconf', [
    '-e',
    `smtpd_milters=${milters}, inet:localhost:8893`,
    'transport_maps=inline:{a.test=b}',
    'biff=yes',
  ]);
  const node = join(data, 'mfd.yaml');
  await writeFile(
    node,
    `${(await readFile(node, 'utf8')).replace(/milter_listen: .*/, 'milter_listen: 127.0.0.1:8899')}log:\n  level: warn # mine\n`,
  );

  const {code, stdout, stderr} = await setup('--undo');

  t.is(code, 0, stderr);
  t.is(
    await value('smtpd_milters'),
    'inet:localhost:8891, { inet:localhost:8892, connect_timeout=10s, default_action=accept }, inet:localhost:8893',
  );
  t.is(await value('transport_maps'), 'inline:{a.test=b}');
  t.is(await value('relay_domains'), 'example.org $mydestination');
  t.is(await value('biff'), 'yes');
  for (const said of [/smtpd_milters was changed since: only the entry of mfd/, /transport_maps was changed since, and stays/])
    t.regex(stdout, said);
  t.true((await readdir(postfix.configDir)).includes('main.cf.before-mfd'));
  const config = parse(await readFile(node, 'utf8'));
  t.deepEqual(config.postfix, {milter_listen: '127.0.0.1:8899'});
  t.deepEqual(config.log, {level: 'warn'});
  t.regex(await readFile(node, 'utf8'), /level: warn # mine/);
});

withPostfix('what is changed between two times is kept, and older copies are not overwritten', async t => {
  const {setup, value, postfix, data} = await start(t, '');
  const copy = join(postfix.configDir, 'main.cf.before-mfd');
  await writeFile(copy, 'of somebody else');
  await setup('--apply');
  await postfix.command('postconf', ['-e', 'biff=yes']);
  const node = join(data, 'mfd.yaml');
  await writeFile(node, (await readFile(node, 'utf8')).replace(/socketmap_listen: .*/, 'socketmap_listen: 127.0.0.1:8892'));

  const second = await setup('--apply', '--recipients');
  const [recipients, domains] = [await value('relay_recipient_maps'), await value('relay_domains')];
  const undone = await setup('--undo');

  t.deepEqual([second.code, undone.code], [0, 0], second.stderr + undone.stderr);
  t.is(recipients, 'socketmap:inet:127.0.0.1:8892:relay_recipient_maps');
  t.is(domains, 'socketmap:inet:127.0.0.1:8892:relay_domains');
  t.is(await readFile(copy, 'utf8'), 'of somebody else');
  t.true((await readdir(postfix.configDir)).includes('main.cf.before-mfd.1'));
  t.is(await value('biff'), 'yes');
  const set = (await postfix.command('postconf', ['-n'])).stdout.toString();
  t.notRegex(set, /socketmap|^(relay_recipient_maps|relay_domains|transport_maps|smtpd_milters|enable_long_queue_ids) =/m);
});

withPostfix('what postfix check does not take is put back, and its words are shown', async t => {
  const {setup, files, postfix, rspamdDir} = await start(t, 'setgid_group = nobody-has-this-group\n');
  await writeFile(join(rspamdDir, 'rspamd.conf'), '');
  const before = await files();

  const {code, stderr} = await setup('--apply');

  t.is(code, 1);
  t.regex(stderr, /^mfd: .*nobody-has-this-group/);
  t.deepEqual(await files(), before);
  t.deepEqual(await readdir(rspamdDir), ['rspamd.conf']);
  t.false((await readdir(postfix.queueDir)).includes('mfd'));
});

withPostfix('the note on what Postfix delivers itself names a domain once', async t => {
  const {setup} = await start(t, 'myhostname = mx1.example.com\nmydestination = $myhostname, mx1.example.com, , localhost\n');

  const {stdout} = await setup();

  t.regex(stdout, /for mydestination itself \(mx1\.example\.com, localhost\); do not list/);
});

withPostfix('a Postfix without a main.cf is to be configured first', async t => {
  const {setup, postfix} = await start(t);
  await rm(join(postfix.configDir, 'main.cf'));

  const {code, stderr} = await setup();

  t.is(code, 2);
  t.regex(stderr, /there is no main\.cf; configure Postfix first, on Debian with dpkg-reconfigure postfix/);
});

withPostfix('a main.cf that cannot be read is left alone, with the line that is wrong', async t => {
  const {setup, files} = await start(t, '\nno setting at all\n');
  const before = await files();

  const {code, stderr} = await setup('--apply');

  t.is(code, 1);
  t.regex(stderr, /main\.cf, line \d+: .*no setting at all/);
  t.deepEqual(await files(), before);
});

withPostfix('where Rspamd is installed the node asks it, and its options are written unless there are some', async t => {
  const {setup, data, rspamdDir} = await start(t);
  const options = join(rspamdDir, 'local.d', 'options.inc');
  await writeFile(join(rspamdDir, 'rspamd.conf'), '');

  const applied = await setup('--apply');
  const written = await readFile(options, 'utf8');
  const scanner = parse(await readFile(join(data, 'mfd.yaml'), 'utf8')).scanner;
  const undone = await setup('--undo');
  const isGone = !(await readdir(join(rspamdDir, 'local.d'))).includes('options.inc');
  await writeFile(options, 'dns { timeout = 5s; }\n');
  const {stdout} = await setup('--apply');

  t.regex(written, /retransmits = 2;/);
  t.regex(applied.stdout, /1\. restart mfd and Rspamd, /);
  t.regex(undone.stdout, /2\. restart mfd and Rspamd, /);
  t.is((await stat(options)).mode & 0o777, 0o644);
  t.deepEqual(scanner, {type: 'rspamd'});
  t.true(isGone);
  t.regex(stdout, /options\.inc is yours/);
  t.is(await readFile(options, 'utf8'), 'dns { timeout = 5s; }\n');
});

withPostfix('who is not root is told so, and so is who asks for what cannot be', async t => {
  const {setup, data, postfix} = await start(t);
  // The node's own user may read the node's data, and only the public files of Postfix.
  for (const folder of [data, dirname(data)]) await chmod(folder, 0o755);
  await chmod(join(data, 'mfd.yaml'), 0o644);

  const apply = await asNobody(['setup', 'postfix', '--data', data, '--config-dir', postfix.configDir, '--apply']);
  const both = await setup('--apply', '--undo');
  const other = await setup('--recipients');
  await rm(join(data, 'mfd.yaml'));
  const noNode = await setup();

  t.regex(apply.stderr, /^mfd: this changes the configuration of Postfix: run it as root/);
  t.is(apply.code, 1);
  t.is(both.code, 2);
  t.regex(other.stderr, /^mfd: --recipients would have Postfix refuse all mail to .*example\.org/);
  t.is(noNode.code, 2);
  t.regex(noNode.stderr, /^mfd: \S+mfd\.yaml does not exist/);
});

/** The program is loaded first, as its folder may be readable only for root. */
const asNobodyText = `
const {main} = require(process.argv[1]).loadBundle('mfd');
process.setgroups([]);
process.setgid(65534);
process.setuid(65534);
main(process.argv.slice(2)).then(process.exit);`;

const asNobody = async (args: string[]): Promise<{code: number; stderr: string}> =>
  new Promise(resolve => {
    const program = fileURLToPath(new URL('../../bin/bundle.js', import.meta.url));
    execFile(process.execPath, ['-e', asNobodyText, program, ...args], (error, _stdout, stderr) =>
      resolve({code: error ? Number(error.code ?? 128) : 0, stderr}),
    );
  });

withPostfix('whoever owns the data directory cannot have root write or show what is not theirs', async t => {
  const {setup, postfix, data} = await start(t);
  const folder = dirname(data);
  const [victim, secret] = [join(folder, 'victim'), join(folder, 'secret')];
  await writeFile(victim, 'root’s', {mode: 0o600});
  await writeFile(secret, 'secret: 1\n', {mode: 0o600});
  await chmod(folder, 0o755);
  await promisify(execFile)('chown', ['-R', '12345:12345', data]);
  await symlink(victim, join(data, 'mfd.yaml.mfd-new'));

  const written = await setup('--apply');

  t.is(written.code, 1);
  t.regex(written.stderr, /the owner of \S+ may not change \S*mfd\.yaml: add by hand/);
  t.is(await readFile(victim, 'utf8'), 'root’s');
  t.is((await stat(victim)).uid, 0);
  t.false((await readFile(join(postfix.configDir, 'main.cf'), 'utf8')).includes('mfd/milter.sock'));

  await rm(join(data, 'mfd.yaml.mfd-new'));
  t.is((await setup('--apply')).code, 0);
  t.is((await stat(join(data, 'mfd.yaml'))).uid, 12345);
  const [copy] = (await readdir(data)).filter(name => name.startsWith('mfd.yaml.'));
  await rm(join(data, copy ?? ''));
  await symlink(secret, join(data, copy ?? ''));

  const undone = await setup('--undo');

  t.not(undone.code, 0);
  t.false((await readFile(join(data, 'mfd.yaml'), 'utf8')).includes('secret'));
});

withPostfix('a configuration of Postfix that is not root’s is not taken from mfd.yaml', async t => {
  const {postfix, data} = await start(t);
  const own = join(data, 'postfix');
  await promisify(execFile)('cp', ['-r', postfix.configDir, own]);
  await promisify(execFile)('chown', ['-R', '12345:12345', data]);
  await chmod(dirname(data), 0o755);
  await appendFile(join(data, 'mfd.yaml'), `\npostfix:\n  config_dir: ${own}\n`);

  const {code, stderr} = await run(mfdFile, ['setup', 'postfix', '--data', data, '--apply']);

  t.is(code, 1);
  t.regex(stderr, /belongs to another user than root, who would run what \S+main\.cf says/);
});
