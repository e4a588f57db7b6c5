// Promises in daemon/hold/DESIGN.md: the tests that they name exist.
import {access, readFile} from 'node:fs/promises';
import test from 'ava';
import {faults} from './fault/faults.ts';

const design = await readFile('daemon/hold/DESIGN.md', 'utf8');
const promises = design.slice(design.indexOf('## What is promised'));
const rows = promises.split('\n').filter(line => /^\| (?!---|Promise |What )/.test(line));

test('every promise names a test', t => {
  t.true(rows.length > 10);
  t.deepEqual(
    rows.filter(row => !/`(fault: [a-z-]+|test\/[\w/.-]+)`/.test(row)),
    [],
  );
});

test('the faults and tests that promises name exist', async t => {
  const named = [...promises.matchAll(/`fault: ([a-z-]+)`/g)].map(([, name]) => name);
  const files = [...promises.matchAll(/`(test\/[\w/.-]+\.ts)`/g)].map(([, file = '']) => file);

  t.true(named.length > 5 && files.length > 3);
  t.deepEqual(
    named.filter(name => !faults.some(fault => fault.name === name)),
    [],
  );
  for (const file of files) await t.notThrowsAsync(access(file), file);
});
