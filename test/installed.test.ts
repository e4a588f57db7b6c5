// Optional programs: `npm test` passes with any of them missing, as no test assumes that one is installed.
import {readdir, readFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import test from 'ava';
import {isInstalled, programsMissing} from './helpers/installed.ts';

/** Programs of every Linux with Node: a shell and the core utilities. */
const everywhere = new Set(['sh', '/bin/sh', '/bin/true', 'cat', 'chgrp', 'chown', 'cp', 'env', 'id', 'mkfifo', 'truncate']);

/**
 * Modules that run an optional program for tests, and their functions that tell whether it is available, as patterns. The last five find out
 * by trying.
 */
const asked: Record<string, string> = {
  'test/helpers/postfix.ts': 'postfixMissing',
  'test/helpers/postgres-server.ts': 'testWithPostgres|postgresMissing',
  'test/helpers/test-with-postgres.ts': 'testWithPostgres|postgresMissing',
  'test/helpers/promtool.ts': 'hasPromtool',
  'test/helpers/released-build.ts': 'releaseMissing',
  'test/helpers/rspamd.ts': 'isRspamdInstalled',
  'test/helpers/terminal.ts': 'isTmuxInstalled',
  'test/helpers/terminal-width.ts': 'hasTmux',
  'test/helpers/pseudo-terminal.ts': 'hasScript',
  'test/helpers/datagram-socket.ts': "'perl'",
  'test/helpers/packaged-system.ts': 'packageMissing',
  'test/helpers/scratch-system.ts': 'mayScratch|packageMissing',
  'test/helpers/network.ts': 'networkMissing',
  'test/helpers/small-disk.ts': 'mayMount',
  'test/helpers/wall-clocks.ts': 'wallClocksMissing',
  'test/fault/powered-disk.ts': 'poweredDiskMissing',
};

const sources = async (): Promise<Map<string, string>> => {
  const names = await readdir('test', {recursive: true});
  const files = names
    .map(name => join('test', name))
    .filter(file => /\.tsx?$/.test(file) && !/^test\/(bench|pictures)\//.test(file));
  return new Map(await Promise.all(files.map(async file => [file, await readFile(file, 'utf8')] as const)));
};

/** Programs that a module starts, where the call names them. */
const programsIn = (text: string): string[] => {
  if (!text.includes("from 'node:child_process'")) return [];
  const aliases = [...text.matchAll(/const (\w+) = promisify\(execFile\)/g)].map(([, name]) => name);
  const calls = `(?:spawn|spawnSync|execFile|execFileSync|promisify\\(execFile\\)|${aliases.join('|') || 'execFile'})`;
  const found = [...text.matchAll(new RegExp(`\\b${calls}\\(\\s*'([^']+)'`, 'g'))].map(([, program = '']) => program);
  return [...new Set(found)].filter(program => !everywhere.has(program));
};

const asksFor = (text: string, program: string): boolean =>
  new RegExp(`\\b(?:isInstalled|programsMissing)\\([^)]*'${program}'`).test(text);

const isFault = (text: string): boolean => / = \{\n {2}name: '/.test(text) && text.includes(': Fault = {');

/** Whether this helper itself skips the tests that need `part`. */
const asksInPlace = (file: string, part: string, texts: Map<string, string>): boolean => {
  const question = asked[part];
  return question !== undefined && file.startsWith('test/helpers/') && new RegExp(question).test(texts.get(file) ?? '');
};

/**
 * Test modules that this one imports, without those whose programs a helper on the way asks for. A fault itself has to check for the
 * programs that it needs.
 */
const partsOf = (file: string, texts: Map<string, string>, seen = new Set<string>()): Set<string> => {
  for (const [, path = ''] of (texts.get(file) ?? '').matchAll(/^(?:import|export) (?!type\b)[^;]*? from '(\.[^']+)'/gm)) {
    const part = join(dirname(file), path);
    const text = texts.get(part);
    if (text === undefined || seen.has(part) || isFault(text) || asksInPlace(file, part, texts)) continue;
    seen.add(part);
    partsOf(part, texts, seen);
  }
  return seen;
};

test('whoever runs an optional program asks for it', async t => {
  const texts = await sources();

  const silent = [...texts].flatMap(([file, text]) =>
    programsIn(text)
      .filter(program => asked[file] === undefined && !asksFor(text, program))
      .map(program => `${file} runs ${program}: see test/helpers/installed.ts`),
  );

  t.deepEqual(silent, []);
  t.true([...texts.values()].flatMap(programsIn).length > 20);
});

test('whoever uses what runs an optional program asks whether it can', async t => {
  const texts = await sources();
  const roots = [...texts].filter(([file, text]) => /\.test\.tsx?$/.test(file) || isFault(text));

  const silent = roots.flatMap(([file, text]) =>
    [...partsOf(file, texts)]
      .filter(part => asked[part] !== undefined && !new RegExp(asked[part]).test(text))
      .map(part => `${file} uses ${part}, and does not ask for ${asked[part]}`),
  );

  t.deepEqual(silent, []);
  for (const file of Object.keys(asked)) t.true(texts.has(file), file);
});

test('a program that is missing is named', t => {
  t.true(isInstalled('sh'));
  t.true(isInstalled('/bin/sh', '/nonexistent'));
  t.false(isInstalled('sh', '/nonexistent'));
  t.is(programsMissing(['sh', 'cat']), undefined);
  t.is(programsMissing(['no-such-a', 'sh', 'no-such-b']), 'not installed: no-such-a, no-such-b');
});
