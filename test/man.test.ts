// Manual pages: they describe the programs completely, and every formatter reads them without a warning.
import {spawnSync} from 'node:child_process';
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import type {Command} from 'commander';
import {leavesOf} from '../daemon/config/load.ts';
import {configSchema} from '../daemon/config/schema.ts';
import {program as mfdProgram} from '../daemon/main.ts';
import {makePage, pageNames, pagePath} from '../man/pages.ts';
import {plain, syntax, verbatim} from '../man/roff.ts';
import {allCommands, commandLine, mfctlCommands} from './helpers/cli/command-tree.ts';
import {isInstalled} from './helpers/installed.ts';

/** A page as its reader sees it. */
const rendered = async (name: string): Promise<string> =>
  isInstalled('mandoc')
    ? spawnSync('mandoc', ['-Tutf8', '-Owidth=200', pagePath(name)], {encoding: 'utf8'}).stdout.replace(/.\x08/g, '')
    : withoutEscapes(await readFile(pagePath(name), 'utf8'));

/** A rough version for machines without a formatter: good enough for a search for words. */
const withoutEscapes = (source: string): string =>
  source
    .replace(/\\f[BIR]/g, '')
    .replace(/\\\(aq/g, "'")
    .replace(/\\e/g, '\\')
    .replace(/\\(?=-)/g, '')
    .replace(/^(?!\.S[SH] )/gm, '        ')
    .replace(/^\.SS /gm, '   ')
    .replace(/^\.SH /gm, '');

/** Headings of the second level with the text below them. */
const partsOf = (text: string): {heading: string; body: string}[] =>
  text
    .split(/^(?= {0,3}\S)/m)
    .filter(part => part.startsWith('   '))
    .map(part => ({heading: part.split('\n', 1)[0]?.trim() ?? '', body: part.slice(part.indexOf('\n'))}));

/** The page's text about a command; for a program this is the whole page. */
const said = (text: string, command: Command): string | undefined =>
  command.parent ? partsOf(text).find(({heading}) => `${heading} `.startsWith(`${commandLine(command)} `))?.body : text;

const flags = (command: Command): string[] =>
  command.options.filter(({hidden}) => !hidden).map(({long, short}) => long ?? short ?? '');

const hasWord = (text: string, word: string): boolean => text.split(/[\s,]+/).includes(word);

test('the committed pages are what npm run man writes', async t => {
  for (const name of pageNames) t.is(await readFile(pagePath(name), 'utf8'), await makePage(name), `${name}: npm run man`);
});

for (const [name, program] of [
  ['mfctl.1', mfctlCommands()],
  ['mfd.8', mfdProgram()],
] as const)
  test(`${name} has every command with every option of it`, async t => {
    const text = await rendered(name);
    const missing = allCommands(program).flatMap(command => {
      const part = said(text, command);
      if (part === undefined) return [commandLine(command)];
      return flags(command)
        .filter(flag => !hasWord(part, flag))
        .map(flag => `${commandLine(command)} ${flag}`);
    });

    t.deepEqual(missing, []);
    t.true(allCommands(program).length > 5);
  });

test('mfd.yaml.5 has every key of the configuration, what it is for and its variable', async t => {
  const text = (await rendered('mfd.yaml.5')).replace(/\s+/g, ' ');
  const keys = leavesOf(configSchema);

  const missing = keys.flatMap(({path}) => {
    const heading = ` ${path.join('.')}: `;
    const variable = `Variable: MFD_${path.join('_').toUpperCase()}.`;
    const entry = text.slice(text.indexOf(heading), text.indexOf(variable));
    return text.includes(heading) && text.includes(variable) && entry.length > heading.length + 20 ? [] : [path.join('.')];
  });

  t.deepEqual(missing, []);
  t.true(keys.length > 30);
});

test('mfctl.1 has every variable that mfctl reads', async t => {
  const folder = fileURLToPath(new URL('../cli', import.meta.url));
  const files = (await readdir(folder, {recursive: true})).filter(file => /\.tsx?$/.test(file));
  const sources = await Promise.all(files.map(file => readFile(join(folder, file), 'utf8')));
  const variables = new Set(sources.flatMap(source => source.match(/\bMFCTL_[A-Z_]+\b/g) ?? []));
  const text = await rendered('mfctl.1');
  const section = text.slice(text.search(/^ENVIRONMENT$/m), text.search(/^FILES$/m));

  t.deepEqual(
    [...variables].filter(name => !hasWord(section, name)),
    [],
  );
  t.true(variables.size > 4);
});

test('text of a program cannot be read as a request', t => {
  t.is(plain("a-b \\fB'x' ~ ^ `"), 'a\\-b \\efB\\(aqx\\(aq \\(ti \\(ha \\(ga');
  t.is(plain('caf\u00e9'), 'caf\\[u00E9]');
  t.is(verbatim(".so /etc/passwd\n'x"), '.EX\n\\&.so /etc/passwd\n\\(aqx\n.EE');
  t.is(syntax('-c, --context <name>'), '\\fB\\-c\\fR, \\fB\\-\\-context\\fR \\fIname\\fR');
  t.is(syntax('[--cacert <file>]'), '[\\fB\\-\\-cacert\\fR \\fIfile\\fR]');
});

const complaints = (program: string, args: string[]): string => {
  const {stdout, stderr} = spawnSync(program, args, {encoding: 'utf8', env: {...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8'}});
  return program === 'man' ? stderr : stdout + stderr;
};

for (const name of pageNames) {
  const linters: [program: string, args: string[]][] = [
    ['mandoc', ['-Tlint', '-Wall', pagePath(name)]],
    ['man', ['--warnings', '-E', 'UTF-8', '-l', pagePath(name)]],
    ['groff', ['-man', '-Tutf8', '-ww', '-z', pagePath(name)]],
  ];
  for (const [program, args] of linters)
    (isInstalled(program) ? test : test.skip)(`${program} has nothing to say against ${name}`, t => {
      t.is(complaints(program, args), '');
    });
}
