import {readFile} from 'node:fs/promises';
import test from 'ava';
import {leavesOf} from '../daemon/config/load.ts';
import {configSchema} from '../daemon/config/schema.ts';

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
const rows = readme.split('\n').filter(line => line.startsWith('| `'));

/** `a.b`, or `.b` in a row that begins with another key of the same section. */
const isInTable = (path: string[]): boolean => {
  const [last = '', section = ''] = [path.at(-1), path.slice(0, -1).join('.')];
  return rows.some(
    row => row.includes(`\`${path.join('.')}\``) || (row.startsWith(`| \`${section}.`) && row.includes(`\`.${last}\``)),
  );
};

test('the README names every configuration key', t => {
  const missing = leavesOf(configSchema).filter(({path}) => !isInTable(path));

  t.deepEqual(
    missing.map(({path}) => path.join('.')),
    [],
  );
});
