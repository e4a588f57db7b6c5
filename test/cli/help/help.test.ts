import {readdir} from 'node:fs/promises';
import test from 'ava';
import type {Command} from 'commander';
import {commandGroups} from '../../../cli/help/help.ts';
import {helpTopics} from '../../../cli/help/help-topics.ts';
import {outputFormats} from '../../../cli/output/output-format.ts';
import {createCommands} from '../../../cli/program.ts';
import {allCommands, commandLine, helpOf, mfctlCommands} from '../../helpers/cli/command-tree.ts';
import {createFakeTerminal, runCli} from '../../helpers/cli/fake-terminal.ts';
import {argumentsIn, helpExamples, pageExamples} from '../../helpers/cli/help-examples.ts';

const env = {XDG_CONFIG_HOME: '/nonexistent'};
const pages = ['README.md', ...(await readdir('docs')).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)];

/** Parses a command line as mfctl would, and does nothing. */
const accept = async (argv: string[]): Promise<void> => {
  const {program} = createCommands(argv, createFakeTerminal({env}));
  const doNothing = (command: Command): void => {
    if (command.commands.length === 0) command.action(() => undefined);
    command.commands.forEach(doNothing);
  };
  doNothing(program);
  await program.parseAsync(argv, {from: 'user'});
};

test('every example in the help is accepted', async t => {
  const examples = await helpExamples();

  for (const {from, line} of examples) {
    const found = argumentsIn(line);
    t.true(found.length > 0, line);
    for (const argv of found) await t.notThrowsAsync(accept(argv), `${from}: ${line}`);
  }
  t.true(examples.length > 30);
});

test('every command line of README and docs is accepted', async t => {
  const examples = (await Promise.all(pages.map(pageExamples))).flat();

  for (const {from, line} of examples)
    for (const argv of argumentsIn(line)) await t.notThrowsAsync(accept(argv), `${from}: ${line}: ${argv.join(' ')}`);
  t.true(examples.length > 75, String(examples.length));
});

test('an example with an option that is not there would be noticed', async t => {
  await t.throwsAsync(accept(['quarantine', 'list', '--rason', 'spam']));
  await t.throwsAsync(accept(['quarantine', 'list', '--json', 'nosuch']));
  t.deepEqual(argumentsIn("pass show x | mfctl api GET '/a?b=1' --data @f > out"), [['api', 'GET', '/a?b=1', '--data', '@f']]);
  t.deepEqual(argumentsIn('source <(mfctl completion bash)'), [['completion', 'bash']]);
});

test('a command that cannot do without an option shows an example', async t => {
  const examples = await helpExamples();
  const without = allCommands(mfctlCommands())
    .filter(command => command.commands.length === 0 && command.options.some(({mandatory}) => mandatory))
    .map(commandLine)
    .filter(name => !examples.some(({from}) => from === name));

  t.deepEqual(without, []);
});

test('every command, option and argument is described, and all in one manner', t => {
  const texts = allCommands(mfctlCommands()).flatMap(command => [
    [commandLine(command), command.description()],
    ...command.options.map(({flags, description}) => [`${commandLine(command)} ${flags}`, description]),
    ...command.registeredArguments.map(argument => [`${commandLine(command)} <${argument.name()}>`, argument.description]),
  ]);
  const wrong = texts.filter(
    ([name, text = '']) => text === '' || /\.$/.test(text) || (name !== 'mfctl' && /^[A-Z][a-z]/.test(text)),
  );

  t.deepEqual(wrong, []);
});

test('every command of the program has its place in a group, and the groups name none twice', t => {
  const {commands} = mfctlCommands();
  const grouped = Object.values(commandGroups).flat();

  t.deepEqual(
    commands.map(command => command.name()).filter(name => !name.startsWith('_') && !grouped.includes(name)),
    [],
  );
  t.is(new Set(grouped).size, grouped.length);
});

test('what people come for stands first in the help', async t => {
  const help = await helpOf([]);
  const places = ['\nMail:\n', '\nConfiguration:\n', '\nmfctl itself:\n', '\nExamples:\n', '\nExit status:\n'].map(text =>
    help.indexOf(text),
  );

  t.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  t.true(places.every(place => place > 0));
});

test('help of a topic says what there is to say, and an unknown topic is wrong usage', async t => {
  for (const {name, entries} of helpTopics) {
    const {code, stdout} = await runCli(['help', name], {env});

    t.is(code, 0);
    for (const [term, meaning] of entries) {
      t.true(stdout.includes(`  ${term} `), term);
      t.not(meaning, '', term);
    }
    t.true(stdout.split('\n').every(line => line.length <= 100));
  }
  t.is((await runCli(['help', 'nosuch'], {env})).code, 2);
});

test('the help of formats knows every format', async t => {
  const {stdout} = await runCli(['help', 'formats'], {env});

  for (const name of outputFormats) t.regex(stdout, new RegExp(`^  ${name} +\\w`, 'm'));
});

test('a command says where the options of all commands are', async t => {
  t.regex(await helpOf(['quarantine', 'list']), /mfctl --help$/m);
  t.notRegex(await helpOf([]), /^Options of all commands/m);
});
