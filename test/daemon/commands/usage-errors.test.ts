import test from 'ava';
import {CommanderError} from 'commander';
import {program} from '../../../daemon/main.ts';

/** What mfd prints on standard error for a wrong command line. */
const errorsOf = (args: readonly string[]): string => {
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
    mfd.parse(args, {from: 'user'});
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return written;
};

test('a misspelled command or option of mfd is named, with the help of the command that was typed', t => {
  for (const [args, printed] of [
    [['strat'], "error: unknown command 'strat'\n(did you mean start?)\n(mfd --help lists the commands)\n"],
    [
      ['start', '--data', '/nowhere', '--int'],
      "error: unknown option '--int'\n(did you mean --init?)\n(mfd start --help lists the options)\n",
    ],
    [['setup', 'postfx'], "error: unknown command 'postfx'\n(did you mean postfix?)\n(mfd setup --help lists the commands)\n"],
    [['init'], "error: required option '--data <dir>' not specified\n(mfd init --help lists the options)\n"],
  ] as const)
    t.is(errorsOf(args), printed);
});

test('mfd never suggests a command that does something else', t => {
  for (const word of ['unjoin', 'restart', 'stop', 'status', 'reload', 'uninit'])
    t.is(errorsOf([word]), `error: unknown command '${word}'\n(mfd --help lists the commands)\n`);
});
