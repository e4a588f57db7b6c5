// The completion scripts in real shells, against a real node.
import {execFile, spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {mkdir, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {heldIds, send} from '../helpers/cli/sent-mail.ts';
import {isInstalled} from '../helpers/installed.ts';
import {holdAll, startMailNode} from '../helpers/mail-node.ts';
import type {TestNode} from '../helpers/node.ts';
import {cleanEnvironment, mfctlFile, run} from '../helpers/program.ts';
import {testFolder} from '../helpers/test-folder.ts';

const hostile = '`touch pwned` $(touch pwned) $HOME "q" \'a\' :b\\ \\e[31m %F{red} %n --all; touch pwned';

interface Shell {
  /** The words that the shell offers for the last word, one a line. */
  offers(...words: string[]): Promise<string[]>;
  /** The file that a command in a mail would have created. */
  pwned: string;
}

/** A domain, filters, a DKIM key, an API key and a held mail. */
const startPopulated = async (t: ExecutionContext): Promise<TestNode> => {
  const node = await startMailNode(t, {domain: holdAll});
  const made = [
    await node.mfctl(['domain', 'dkim', 'create', 'example.com', '--selector', 'mfd2026']),
    await node.mfctl(['domain', 'filters', 'add', 'example.com', '--block', '--subject', hostile]),
    await node.mfctl(['filter', 'add', '--block', '--subject', hostile]),
    await node.mfctl(['key', 'create', '--name', hostile, '--scope', 'read-only']),
  ];
  t.deepEqual(
    made.map(({code}) => code),
    [0, 0, 0, 0],
  );
  await send(node, `Subject: ${hostile}\r\n\r\ntext\r\n`);
  return node;
};

const inShell = async (
  t: ExecutionContext,
  node: Pick<TestNode, 'xdgConfigHome'>,
  {shell, script}: {shell: string; script: (words: string[]) => string},
): Promise<Shell> => {
  const folder = await testFolder(t);
  await mkdir(join(folder, 'home'));
  const env = {
    ...cleanEnvironment(),
    HOME: join(folder, 'home'),
    XDG_CONFIG_HOME: node.xdgConfigHome,
    PATH: `${dirname(mfctlFile)}:${process.env.PATH}`,
  };
  const ask = (words: string[]): Promise<string[]> =>
    new Promise((resolve, reject) => {
      const args = [...(shell === 'bash' ? ['--norc'] : shell === 'zsh' ? ['-f'] : ['--no-config']), '-c', script(words)];
      const child = execFile(shell, args, {env, cwd: folder}, (error, stdout, stderr) => {
        if (error || stderr !== '') reject(error ?? new Error(stderr));
        else resolve(stdout.split('\n').slice(0, -1));
      });
      child.stdin?.end('for nobody\n');
    });
  // The completion waits only briefly for the node: on a busy machine it may offer nothing the first time.
  const offers = async (...words: string[]): Promise<string[]> => {
    for (let tries = 1; tries < 3; tries += 1) {
      const offered = await ask(words);
      if (offered.length > 0) return offered;
    }
    return ask(words);
  };
  return {offers, pwned: join(folder, 'pwned')};
};

/** Calls it like readline, which passes the characters at which it breaks words as separate words. */
const bash = (words: string[]): string => {
  const pieces = ['mfctl', ...words].flatMap(word => (word === '' ? [''] : word.split(/([=:@]+)/).filter(Boolean)));
  const line = ['mfctl', ...words].join(' ');
  return `
    source <(mfctl completion bash)
    compopt() { [[ $* == '-o nosort' ]] || echo "compopt $*"; }
    COMP_LINE=${singleQuoted(line)}; COMP_POINT=${line.length}
    COMP_WORDS=(${pieces.map(singleQuoted).join(' ')}); COMP_CWORD=${pieces.length - 1}
    _mfctl mfctl ''
    [ \${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"`;
};

/** The widgets of the line editor exist only in an interactive shell: their replacements print their arguments. */
const zsh = (words: string[]): string => `
  compdef() { :; }
  _describe() { print -rl -- "\${(P@)argv[-1]}"; }
  compset() { print -r -- "compset $*"; }
  _files() { print files; }
  source <(mfctl completion zsh)
  words=(mfctl ${words.map(singleQuoted).join(' ')}); CURRENT=$#words; PREFIX=\${words[-1]}
  _mfctl
  true`;

const fish = (words: string[]): string => `
  mfctl completion fish | source
  complete --do-complete ${fishQuoted(['mfctl', ...words].join(' '))}`;

const singleQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const testIn = (shell: string) => (isInstalled(shell) ? test : test.skip);

testIn('bash')('bash offers what there is on the node', async t => {
  const node = await startPopulated(t);
  const [id = ''] = await heldIds(node);
  const {offers, pwned} = await inShell(t, node, {shell: 'bash', script: bash});

  t.deepEqual(await offers('quarantine', 'show', ''), [id]);
  t.deepEqual(await offers('quarantine', 'release', id.slice(0, -3)), [id]);
  t.deepEqual(await offers('domain', 'get', 'ex'), ['example.com']);
  t.deepEqual(await offers('domain', 'dkim', 'delete', 'example.com', ''), ['mfd2026']);
  t.deepEqual(await offers('domain', 'filters', 'remove', '"example.com"', ''), ['1000000001']);
  t.deepEqual(await offers('filter', 'remove', ''), ['1000000002']);
  t.deepEqual(await offers('key', 'revoke', ''), ['1000000001', '1000000002']);
  t.deepEqual(await offers('cluster', 'remove', ''), [node.node_id]);
  t.deepEqual(await offers('quarantine', 'list', '--node', ''), [node.node_id]);
  t.deepEqual(await offers('quarantine', 'list', '--domain=ex'), ['example.com']);
  t.deepEqual(await offers('audit', '--action', 'dk'), ['dkim.create']);
  t.deepEqual(await offers('-c', ''), [node.node_id]);
  t.deepEqual(await offers('--url', 'https://localhost:1', 'domain', 'get', ''), []);
  t.deepEqual(await offers('-c', 'nosuch', 'domain', 'get', ''), []);
  t.false(existsSync(pwned));
});

testIn('bash')('bash completes commands, options, choices and files', async t => {
  const {offers} = await inShell(t, {xdgConfigHome: '/nonexistent'}, {shell: 'bash', script: bash});

  t.deepEqual(await offers('quarantine', 'su'), ['summary']);
  t.deepEqual(await offers('quarantine', 'list', '--reason=s'), ['spam', 'sandbox']);
  t.deepEqual(await offers('quarantine', 'list', '--reason='), ['spam', 'phishing', 'sandbox', 'rbl']);
  t.deepEqual(await offers('--cacert', ''), ['compopt -o default']);
  t.deepEqual(await offers('api', 'PUT', '/x', '--data', '@'), ['compopt -o filenames', '@home']);
});

testIn('zsh')('zsh gets what there is on the node, and what to say about it', async t => {
  const node = await startPopulated(t);
  const [id = ''] = await heldIds(node);
  const {offers, pwned} = await inShell(t, node, {shell: 'zsh', script: zsh});

  const [mail = '', ...more] = await offers('quarantine', 'show', '');

  t.deepEqual(more, []);
  // The text up to the first colon is the word; in the rest a backslash escapes the next character.
  t.true(mail.startsWith(`${id}:\`touch pwned\``));
  t.true(mail.includes(':b\\\\ \\\\e[31m'));
  t.deepEqual(await offers('-c', ''), [`${node.node_id}:${node.api_url}`]);
  t.deepEqual(await offers('quarantine', 'list', '--reason=s'), ['--reason=spam', '--reason=sandbox']);
  t.deepEqual(await offers('--cacert=x'), ['compset -p 9', 'files']);
  t.deepEqual(await offers('domain', 'dkim', 'delete', "'example.com'", ''), ['mfd2026:rsa-2048']);
  t.false(existsSync(pwned));
});

testIn('fish')('fish offers what there is on the node, and what to say about it', async t => {
  const node = await startPopulated(t);
  const [id = ''] = await heldIds(node);
  const {offers, pwned} = await inShell(t, node, {shell: 'fish', script: fish});

  const mails = await offers('quarantine', 'show', '');

  t.is(mails.length, 1);
  t.true(mails[0]?.startsWith(`${id}\t\`touch pwned\``));
  t.deepEqual(await offers('domain', 'dkim', 'delete', "'example.com'", ''), ['mfd2026\trsa-2048']);
  t.deepEqual(
    (await offers('quarantine', 'list', '--reason=s')).map(line => line.trimEnd()),
    ['--reason=spam', '--reason=sandbox'],
  );
  t.deepEqual(await offers('--cacert=ho'), ['--cacert=home/']);
  t.deepEqual(await offers('api', 'PUT', '/x', '--data', '@ho'), ['@home/']);
  t.false(existsSync(pwned));
});

for (const [shell, flag] of [
  ['bash', '-n'],
  ['zsh', '-n'],
  ['fish', '--no-execute'],
] as const)
  testIn(shell)(`${shell} finds nothing wrong with its script`, async t => {
    const {code, stdout} = await run(mfctlFile, ['completion', shell]);
    const folder = await testFolder(t);
    await writeFile(join(folder, 'script'), stdout);
    const checked = spawnSync(shell, [flag, join(folder, 'script')], {encoding: 'utf8'});

    t.is(code, 0);
    t.true(stdout.includes('__complete'));
    t.is(checked.stderr, '');
    t.is(checked.status, 0);
  });

test('nothing is read from standard input, though the key is said to be there', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  const words = ['--api-key-file', '-', 'domain', 'get', ''];

  const {code, stdout, stderr} = await node.mfctl(['__complete', '--', ...words], {input: `${node.api_key}\n`});

  t.deepEqual({code, stdout, stderr}, {code: 0, stdout: '', stderr: ''});
});

test('a node that has stopped answering keeps nobody waiting for good', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  node.signal('SIGSTOP');

  const {stdout, stderr} = await node.mfctl(['__complete', '--', 'domain', 'get', '']);

  t.deepEqual({stdout, stderr}, {stdout: '', stderr: ''});
});

test('neither does a file that does not answer', async t => {
  const folder = await testFolder(t);
  await mkdir(join(folder, 'mfctl'));
  t.is(spawnSync('mkfifo', [join(folder, 'mfctl', 'config.yaml')]).status, 0);

  const {stdout, stderr} = await run(mfctlFile, ['__complete', '--', '-c', ''], {env: {XDG_CONFIG_HOME: folder}});

  t.deepEqual({stdout, stderr}, {stdout: '', stderr: ''});
});
