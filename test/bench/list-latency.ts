// How long a list of 100 takes over HTTPS with 10,000 and with 100,000 held mails: npm run bench:list
// The rows are put straight into the database of a running node; the mails' bytes play no part in a list.
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {openDatabase} from '../../daemon/store/database.ts';
import {startNode, type TestNode} from '../helpers/node.ts';
import {fillHeld} from './held-mails.ts';
import {quantilesOf} from './quantiles.ts';

const rounds = 200;

const queries: [string, string][] = [
  ['newest 100', 'limit=100'],
  ['by domain', 'limit=100&domain=d7.example'],
  ['by sender domain', 'limit=100&sender=s11.example'],
  ['by reason', 'limit=100&reason=phishing'],
  ['by score', 'limit=100&min_score=14'],
  ['since an hour', `limit=100&since=${new Date(Date.now() - 3_600_000).toISOString()}`],
  ['by recipient', 'limit=100&recipient=user5@d5.example'],
  ['subject contains', 'limit=100&subject=number%204242'],
  ['offset 5,000', 'limit=100&offset=5000'],
];

const measure = async (node: TestNode, query: string): Promise<{p50: number; p99: number; total: string}> => {
  const times: number[] = [];
  let total = '';
  for (let round = -20; round < rounds; round += 1) {
    const startedAt = performance.now();
    const answer = await node.api('GET', `mail/quarantine?${query}`);
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    if (round >= 0) times.push(performance.now() - startedAt);
    total = String(answer.headers['x-total-count']);
  }
  return {...quantilesOf(times), total};
};

const teardowns: (() => unknown)[] = [];
const context = {teardown: (end: () => unknown) => void teardowns.push(end)} as unknown as ExecutionContext;
const out = (line: string) => process.stdout.write(`${line}\n`);

try {
  const node = await startNode(context, {config: {log: {level: 'warn'}}});
  const database = await openDatabase(join(node.data, 'mfd.db'));
  teardowns.push(database.close);

  let filled = 0;
  for (const size of [10_000, 100_000]) {
    await fillHeld(database, filled, size);
    filled = size;
    const me = await measure(node, 'limit=1');
    out(`${size} held; ${rounds} requests each over one kept-alive HTTPS connection; list of 1: p50 ${me.p50.toFixed(2)} ms`);
    out('query               p50 ms   p99 ms    total');
    for (const [name, query] of queries) {
      const {p50, p99, total} = await measure(node, query);
      out(`${name.padEnd(18)} ${p50.toFixed(2).padStart(7)} ${p99.toFixed(2).padStart(8)} ${total.padStart(8)}`);
    }
  }
} finally {
  for (const end of teardowns.reverse()) await end();
}
