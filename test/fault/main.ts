// npm run fault: failures caused on purpose, and whether anything was lost.
//   npm run fault -- [--rounds N] [--seed TEXT] [--short] [--jobs N] [--json FILE] [NAME …]
// The seed that a run prints repeats it. Timing is the machine's: a seed repeats the actions, not when the disk is ready.
import {randomBytes} from 'node:crypto';
import {mkdir, writeFile} from 'node:fs/promises';
import {dirname} from 'node:path';
import {parseArgs} from 'node:util';
import type {Fault} from './fault.ts';
import {faults} from './faults.ts';
import {type Outcome, summaryOf, tableOf} from './report.ts';
import {runFault} from './run-fault.ts';

const out = (line: string) => process.stdout.write(`${line}\n`);
const say = (line: string) => process.stderr.write(`${line}\n`);

const {values: options, positionals: names} = parseArgs({
  allowPositionals: true,
  options: {
    rounds: {type: 'string'},
    seed: {type: 'string', default: randomBytes(4).toString('hex')},
    short: {type: 'boolean', default: false},
    /** Number of faults that run in parallel: most of them wait most of the time. */
    jobs: {type: 'string', default: '1'},
    json: {type: 'string', default: 'build/fault.json'},
  },
});

const wrong = names.filter(name => !faults.some(fault => fault.name === name));
const counts = [options.rounds ?? '1', options.jobs].map(Number);
if (wrong.length > 0 || !counts.every(count => Number.isInteger(count) && count > 0)) {
  say(`usage: npm run fault -- [--rounds N] [--seed TEXT] [--short] [--jobs N] [--json FILE] [NAME …]`);
  say(`the faults are ${faults.map(({name}) => name).join(', ')}`);
  process.exit(2);
}

const outcomeOf = async (fault: Fault): Promise<Outcome> => {
  const missing = await fault.missing?.();
  if (missing !== undefined) return {fault, seconds: 0, report: {rounds: 0, violations: [], figures: {}}, missing};
  const rounds = Number(options.rounds ?? (options.short ? fault.shortRounds : fault.rounds));
  const startedAt = performance.now();
  const report = await runFault(fault, {
    seed: options.seed,
    rounds,
    isShort: options.short,
    say: line => say(`  ${fault.name}: ${line}`),
  });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  say(`${fault.name}: ${report.rounds} rounds, ${report.violations.length} violations, ${seconds} s`);
  return {fault, seconds, report};
};

say(`seed ${options.seed}`);
const waiting = faults.filter(({name}) => names.length === 0 || names.includes(name));
const order = [...waiting];
const outcomes: Outcome[] = [];
const worker = async (): Promise<void> => {
  for (let fault = waiting.shift(); fault; fault = waiting.shift()) outcomes.push(await outcomeOf(fault));
};
await Promise.all(Array.from({length: Number(options.jobs)}, worker));
outcomes.sort((a, b) => order.indexOf(a.fault) - order.indexOf(b.fault));

for (const {fault, report} of outcomes) for (const violation of report.violations) out(`${fault.name}: ${violation}`);
out(tableOf(outcomes));
const written = outcomes.map(({fault: {name}, seconds, report, missing}) => ({name, seconds, ...report, missing}));
await mkdir(dirname(options.json), {recursive: true});
await writeFile(
  options.json,
  `${JSON.stringify({at: new Date().toISOString(), seed: options.seed, faults: written}, undefined, 2)}\n`,
);
out(summaryOf(outcomes, options.seed));
process.exit(outcomes.every(({report, missing}) => missing === undefined && report.violations.length === 0) ? 0 : 1);
