// YAML files that are made to keep a parser busy for ever.
import test from 'ava';
import {readBoundedYaml} from '../../../cli/files/bounded-yaml.ts';

const faultsOf = async (text: string, most?: number): Promise<string[]> => {
  const read = await readBoundedYaml(text, most);
  return 'faults' in read ? read.faults.map(({line, detail}) => `${line}: ${detail}`) : [];
};

const readValue = async (text: string): Promise<unknown> => {
  const read = await readBoundedYaml(text);
  return 'value' in read ? read.value : read.faults;
};

test('what is nested without end is refused before it is built', async t => {
  const many = 200_000;
  for (const text of ['['.repeat(many), '{a: '.repeat(many), '- '.repeat(many), '? '.repeat(many), `a: ${'[{'.repeat(many)}`])
    t.deepEqual(await faultsOf(text), ['1: is nested too deeply'], text.slice(0, 8));

  const deep = Array.from({length: 500}, (_, at) => `${' '.repeat(at)}a:\n`).join('');
  t.regex((await faultsOf(deep)).join(), /^\d+: is nested too deeply$/);
  t.deepEqual(await faultsOf(`${'['.repeat(90)}${']'.repeat(90)}`), []);
});

test('a text of too many pieces is refused where it is too much', async t => {
  const text = '- a\n'.repeat(1000);

  t.deepEqual(await faultsOf(text, 2500), ['500: from here on the file is too large; divide it into several']);
  t.deepEqual(await faultsOf(text, 6000), []);
});

test('a hundred thousand names, aliases, anchors or faults take as long as they are', async t => {
  const many = 100_000;
  const lines = (line: (at: number) => string) => Array.from({length: many}, (_, at) => line(at)).join('');

  t.is(Object.keys((await readValue(lines(at => `k${at}: 1\n`))) as object).length, many);
  t.is(((await readValue(`- &a {b: 1}\n${lines(() => '- *a\n')}`)) as unknown[]).length, many + 1);
  t.is(((await readValue(lines(at => `- &a${at} x\n`))) as unknown[]).length, many);
  t.deepEqual((await faultsOf(`a:\n${lines(() => '- *b\n')}`)).slice(-1), [
    `${many + 1}: Unresolved alias (the anchor must be set before the alias): b`,
  ]);
  t.deepEqual((await faultsOf(lines(() => 'a: 1\n'))).slice(0, 1), ['2: Map keys must be unique']);
});

test('little text that stands for much is refused', async t => {
  const empty = `- &a [${'[],'.repeat(2000)}]\n${'- *a\n'.repeat(2000)}`;
  const bomb = Array.from({length: 40}, (_, at) => `a${at}: &a${at} [*a${at - 1}, *a${at - 1}]\n`).join('');

  t.regex((await faultsOf(empty)).join(), /^1: has more than 1000000 values with its aliases expanded/);
  t.regex((await faultsOf(`a-1: &a-1 x\n${bomb}`)).join(), /^2\d: has more than 1000000 values/);
  t.deepEqual(await faultsOf('a: &a [*a]'), ['1: an alias cannot stand for what it is a part of']);
});

test('an alias is the last anchor before it, and an anchor may be given again', async t => {
  t.deepEqual(await readValue('[&a 1, *a, &a 2, *a, &b {c: *a}, *b]'), [1, 1, 2, 2, {c: 2}, {c: 2}]);
});

test('names are text, and none of them is special', async t => {
  const value = (await readValue('{1: a, null: b, __proto__: {c: 1}, d: }')) as object;

  t.deepEqual(Object.entries(value), [
    ['1', 'a'],
    ['null', 'b'],
    ['__proto__', {c: 1}],
    ['d', null],
  ]);
  t.deepEqual(await faultsOf('1: a\n"1": b\n'), ['2: Map keys must be unique']);
});

test('a tag that makes something else of a value is refused', async t => {
  for (const tag of ['!!set', '!!omap', '!!binary', '!!timestamp', '!!js/function', '!x'])
    t.regex((await faultsOf(`a: ${tag} b\n`)).join(), /^1: Unresolved tag/, tag);
});
