// How long a list of 100 takes over HTTPS with 10,000 and with 100,000 held mails: npm run bench:list
// The rows are put straight into the database of a running node; the mails' bytes play no part in a list.
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {type Database, openDatabase} from '../../daemon/store/database.ts';
import {insertHeldMails, type NewHeldMail} from '../../daemon/store/held-mail.ts';
import {reasons} from '../../shared/held-mail.ts';
import {startNode, type TestNode} from '../helpers/node.ts';

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

const mail = (at: number): NewHeldMail => ({
  queue_id: `bench${String(at).padStart(9, '0')}`,
  arrived_at: new Date(Date.now() - at * 500).toISOString(),
  direction: 'inbound',
  domain: `d${at % 50}.example`,
  domain_id: at % 50,
  sender: `news${at}@s${at % 200}.example`,
  recipients: [`user${at % 1000}@d${at % 50}.example`],
  subject: `Offer number ${at} for you and everybody you know`,
  score: 6 + (at % 90) / 10,
  symbol_scores: [
    {name: 'RBL_EXAMPLE', score: 2.5},
    {name: 'HTML_SHORT_LINK_IMG_1', score: 2},
    {name: 'MISSING_MID', score: 1.5},
  ],
  reason: reasons[at % reasons.length] ?? 'spam',
  size_bytes: 12_000,
  client_ip: '192.0.2.1',
  helo: 'mail.example',
  is_utf8: false,
  is_eight_bit: false,
  sha256: '0'.repeat(64),
});

const fill = async (database: Database, from: number, to: number): Promise<void> => {
  for (let at = from; at < to; at += 1000)
    await database.write.transaction(async tx =>
      insertHeldMails(
        tx,
        Array.from({length: 1000}, (_, index) => mail(at + index)),
      ),
    );
};

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
  times.sort((a, b) => a - b);
  return {p50: times[Math.floor(rounds * 0.5)] ?? 0, p99: times[Math.floor(rounds * 0.99)] ?? 0, total};
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
    await fill(database, filled, size);
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
