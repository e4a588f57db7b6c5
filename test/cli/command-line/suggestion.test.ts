import test from 'ava';
import {meantCommands, meantOption} from '../../../cli/command-line/suggestion.ts';
import {subcommandOf} from '../../../cli/command-line/typed-words.ts';
import {allCommands, mfctlCommands} from '../../helpers/cli/command-tree.ts';
import {runCli} from '../../helpers/cli/fake-terminal.ts';

const program = mfctlCommands();
const commandAt = (...names: string[]) =>
  names.reduce((command, name) => {
    const found = subcommandOf(command, name);
    if (!found) throw new Error(`no command ${names.join(' ')}`);
    return found;
  }, program);

test('a word that other programs use leads to the command with the same effect', t => {
  for (const [parents, typed, meant] of [
    [['quarantine'], 'delete', 'discard'],
    [['quarantine'], 'remove', 'discard'],
    [['quarantine'], 'delte', 'discard'],
    [['quarantine'], 'search', 'list'],
    [['quarantine'], 'relese', 'release'],
    [['quarantine'], 'accept', 'release'],
    [['domain'], 'add', 'create'],
    [['domain', 'filters'], 'create', 'add'],
    [['cluster'], 'list', 'status'],
    [['key'], 'disable', 'revoke'],
    [['dmarc'], 'source', 'sources'],
    [[], 'user', 'key'],
    [[], 'users', 'key'],
    [[], 'logs', 'events'],
    [[], 'quarantin', 'quarantine'],
    [[], 'quar', 'quarantine'],
  ] as const)
    t.deepEqual(meantCommands(commandAt(...parents), typed), [meant], [...parents, typed].join(' '));
});

test('where nothing has that effect, nothing is guessed', t => {
  for (const [parents, typed] of [
    [['domain'], 'revoke'],
    [['domain'], 'disable'],
    [['quarantine'], 'create'],
    [['quarantine'], 'reject'],
    [['cluster'], 'release'],
    [['quarantine'], 'xyzzy'],
    [['key'], 'unrevoke'],
    [['cluster'], 'unwatch'],
    [[], 'xyzzy'],
  ] as const)
    t.deepEqual(meantCommands(commandAt(...parents), typed), [], [...parents, typed].join(' '));
});

const destroying = ['delete', 'remove', 'discard', 'revoke'];
const harmless = ['list', 'show', 'get', 'search', 'create', 'add', 'update', 'set', 'release', 'deliver', 'export', 'watch'];

test('no word for something else is answered with a command that destroys, nor the other way round', t => {
  for (const parent of allCommands(program).filter(({commands}) => commands.length > 0)) {
    for (const typed of harmless)
      for (const meant of meantCommands(parent, typed))
        t.false(destroying.includes(meant.split(' ').at(-1) ?? ''), `${parent.name()} ${typed}`);
    for (const typed of destroying)
      for (const meant of meantCommands(parent, typed))
        t.false(harmless.includes(meant.split(' ').at(-1) ?? ''), `${parent.name()} ${typed}`);
  }
});

test('an option is suggested where one is near, and never its opposite', t => {
  t.is(meantOption(commandAt('quarantine', 'list'), '--rason'), '--reason');
  t.is(meantOption(commandAt('domain', 'update'), '--nodkim'), '--no-dkim');
  t.is(meantOption(commandAt('domain', 'update'), '--reactive'), undefined);
  t.is(meantOption(commandAt('quarantine', 'list'), '--xyzzy'), undefined);
});

test('the hint for an unknown command names the one that was meant, in help too', async t => {
  for (const [argv, hint] of [
    [['quarantine', 'delete', 'mx1/aaaaaa'], 'did you mean discard? See mfctl quarantine --help'],
    [['quarantine', 'xyzzy'], 'mfctl quarantine --help'],
    [['help', 'quarantin'], 'did you mean mfctl help quarantine?'],
    [['help', 'quarantine', 'delete'], 'did you mean mfctl help quarantine discard?'],
    [['help', 'exit-statu'], 'did you mean mfctl help exit-status?'],
  ] as const) {
    const {code, stderr} = await runCli([...argv], {env: {}});

    t.is(code, 2);
    t.is(stderr.split('\n')[1], `hint: ${hint}`);
  }
});
