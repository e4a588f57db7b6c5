import {stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {CommanderError} from 'commander';
import {program} from '../../../daemon/main.ts';
import {testFolder} from '../../helpers/store.ts';

/** What mfd prints on standard error for a wrong command line. */
const errorsOf = async (args: readonly string[]): Promise<string> => {
  let written = '';
  const mfd = program();
  const capture = (command: typeof mfd): void => {
    command.configureOutput({
      writeErr: text => {
        written += text;
      },
    });
    command.commands.forEach(capture);
  };
  capture(mfd);
  try {
    await mfd.parseAsync(args, {from: 'user'});
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return written;
};

test('a misspelled command or option of mfd is named, with the help of the command that was typed', async t => {
  for (const [args, printed] of [
    [['strat'], "error: unknown command 'strat'\n(did you mean start?)\n(mfd --help lists the commands)\n"],
    [
      ['start', '--data', '/nowhere', '--int'],
      "error: unknown option '--int'\n(did you mean --init?)\n(mfd start --help lists the options)\n",
    ],
    [['help', 'strat'], "error: unknown command 'strat'\n(did you mean start?)\n(mfd --help lists the commands)\n"],
    [
      ['help', 'setup', 'postfx'],
      "error: unknown command 'postfx'\n(did you mean postfix?)\n(mfd setup --help lists the commands)\n",
    ],
    [['setup', 'postfx'], "error: unknown command 'postfx'\n(did you mean postfix?)\n(mfd setup --help lists the commands)\n"],
    [['start', '--dta', 'x'], "error: unknown option '--dta'\n(did you mean --data?)\n(mfd start --help lists the options)\n"],
    [['init', '--dat=i1'], "error: unknown option '--dat=i1'\n(did you mean --data?)\n(mfd init --help lists the options)\n"],
    [['init'], "error: required option '--data <dir>' not specified\n(mfd init --help lists the options)\n"],
  ] as const)
    t.is(await errorsOf(args), printed);
});

test('mfd never suggests a command that does something else', async t => {
  for (const word of ['unjoin', 'restart', 'stop', 'status', 'reload', 'uninit'])
    t.is(await errorsOf([word]), `error: unknown command '${word}'\n(mfd --help lists the commands)\n`);
});

test('mfd setup without the name of what is set up is told the whole command', async t => {
  t.is(
    await errorsOf(['setup', '--data', '/var/lib/mfd']),
    "error: unknown option '--data'\n(did you mean mfd setup postfix --data?)\n(mfd setup --help lists the commands)\n",
  );
});

test('an option that is given twice is wrong usage, as neither value can be meant, and nothing is done', async t => {
  const data = join(await testFolder(t), 'new');

  for (const [args, printed] of [
    [['init', '--data', data, '--fqdn', 'a.example', '--fqdn=b.example'], "option '--fqdn <name>' is given 2 times"],
    [['check-config', '--data', data, '--data', data, '--data', data], "option '--data <dir>' is given 3 times"],
    [['setup', 'postfix', '--data', data, '--apply', '--apply'], "option '--apply' is given 2 times"],
  ] as const)
    t.is(
      await errorsOf(args),
      `error: ${printed}\n(mfd ${args[0] === 'setup' ? 'setup postfix' : args[0]} --help lists the options)\n`,
    );

  await t.throwsAsync(stat(data), {code: 'ENOENT'});
});

test('a file as data directory is told, with the folder that was meant, by every command', async t => {
  const folder = await testFolder(t);
  const file = join(folder, 'mfd.yaml');
  await writeFile(file, 'fqdn: mx1.example.com\n');

  for (const words of [['check-config'], ['start'], ['init'], ['repair'], ['bootstrap-key'], ['setup', 'postfix']])
    await t.throwsAsync(program().parseAsync([...words, '--data', file], {from: 'user'}), {
      name: 'UsageError',
      message: `--data ${file}: this is a file; name the folder it lies in: --data ${folder}`,
    });
});

test('options of mfd with impossible values are wrong usage', async t => {
  const folder = await testFolder(t);
  const wrong: [string[], string][] = [
    [
      ['setup', 'postfix', '--data', folder, '--config-dir', join(folder, 'nope')],
      `--config-dir ${folder}/nope: there is no such folder`,
    ],
    [
      ['setup', 'postfix', '--data', folder, '--config-dir', folder],
      `--config-dir ${folder}: there is no main.cf; configure Postfix first, on Debian with dpkg-reconfigure postfix`,
    ],
    [
      ['init', '--data', join(folder, 'new'), '--smtp-listen', '127.0.0.1:70000'],
      '--smtp-listen "127.0.0.1:70000": must be HOST:PORT with a port up to 65535, IPv6 in brackets',
    ],
  ];
  for (const [args, message] of wrong)
    await t.throwsAsync(program().parseAsync(args, {from: 'user'}), {name: 'UsageError', message});
});
