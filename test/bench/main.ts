// npm run bench: all figures but those that take long, or those named, against their anchors in the same run.
//   npm run bench -- [--quick] [--json FILE] [NAME …]      NAME is a bench or one of its rows
import {mkdir, writeFile} from 'node:fs/promises';
import {dirname} from 'node:path';
import {parseArgs} from 'node:util';
import {startOwner} from '../helpers/owner.ts';
import {isMet, type Measured} from './bench.ts';
import {benches} from './benches.ts';
import {type Result, summaryOf, tableOf} from './report.ts';

const out = (line: string) => process.stdout.write(`${line}\n`);
const say = (line: string) => process.stderr.write(`${line}\n`);

const {values: options, positionals: names} = parseArgs({
  allowPositionals: true,
  options: {quick: {type: 'boolean', default: false}, json: {type: 'string', default: 'build/bench.json'}},
});

const known = new Set(benches.flatMap(({name, rows}) => [name, ...rows.map(row => row.name)]));
const unknown = names.filter(name => !known.has(name));
if (unknown.length > 0) {
  say(`there is no bench ${unknown.join(', ')}; there are ${[...known].join(', ')}`);
  process.exit(2);
}

// With this variable, Node reads a file of certificates at every start, which is not part of the measurement.
delete process.env.NODE_EXTRA_CA_CERTS;
const results: Result[] = [];
for (const bench of benches) {
  const rows = bench.rows.filter(
    row => (names.length === 0 && !bench.isLong) || names.includes(bench.name) || names.includes(row.name),
  );
  if (rows.length === 0) continue;
  const missing = bench.missing?.();
  if (missing !== undefined) {
    for (const row of rows) results.push({row, measured: {missing}});
    continue;
  }
  const owner = startOwner();
  const measured = new Map<string, Measured>();
  const startedAt = performance.now();
  try {
    await bench.run({
      isQuick: options.quick,
      owner,
      isWanted: name => rows.some(row => row.name === name),
      report: (name, figures) => void measured.set(name, figures),
      say: line => say(`  ${line}`),
    });
  } catch (error) {
    say(`${bench.name} failed: ${error instanceof Error ? error.stack : error}`);
  } finally {
    await owner.end();
  }
  say(`${bench.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  for (const row of rows) results.push({row, measured: measured.get(row.name) ?? {missing: 'failed, see above'}});
}

out(tableOf(results));
await mkdir(dirname(options.json), {recursive: true});
const figures = results.map(({row, measured}) => ({...row, ...measured, is_met: isMet(row, measured)}));
await writeFile(
  options.json,
  `${JSON.stringify({at: new Date().toISOString(), is_quick: options.quick, figures}, undefined, 2)}\n`,
);
out(summaryOf(results));
process.exit(figures.every(({is_met}) => is_met) ? 0 : 1);
