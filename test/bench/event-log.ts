// The event log with ten million entries: what it is asked for, its size, what a sweep costs other writers, and intake beside it.
import {readFile, stat} from 'node:fs/promises';
import {join} from 'node:path';
import {unknownMail} from '../../daemon/services/events/held-event.ts';
import type {NewMailEvent} from '../../daemon/services/events/mail-event.ts';
import type {Store} from '../../daemon/services/ports.ts';
import {openPostgresStore} from '../../daemon/store/postgres/store.ts';
import type {Owner} from '../helpers/daemon.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {startNode, type TestNode} from '../helpers/node.ts';
import {databaseOf} from '../helpers/node-store.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {buildRelease, releaseMissing, releases} from '../helpers/released-build.ts';
import {openTestStore} from '../helpers/store.ts';
import {compareWithRelease} from './against-release.ts';
import {timed} from './alternate.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {createExampleDomain} from './example-domain.ts';
import {quantilesOf} from './quantiles.ts';
import {kept} from './smtp.ts';
import {startBareBackend, startSmtpLoad} from './smtp-load.ts';

const questions = [
  {name: 'queue-id', title: 'by queue id', wanted: {atMost: 20}},
  {name: 'recipient', title: 'by recipient within a week, newest 100', wanted: {atMost: 100}},
  {name: 'subject', title: 'by subject', wanted: {atMost: 500}},
] as const;

const traceRows = (prefix: string, store: string): Row[] =>
  questions.map(({name, title, wanted}) => ({
    name: `${prefix}trace-${name}`,
    title: `trace ${title} among 10,000,000 events, ${store}, p95`,
    anchor: '',
    wanted,
    unit: 'ms',
  }));

/** The last release without the event log. */
const withoutLog = releases.find(({version}) => version === '0.8.1');

const perTransaction = 10_000;

export const eventLog: Bench = {
  name: 'event-log',
  isLong: true,
  seconds: 3000,
  rows: [
    ...traceRows('', 'SQLite'),
    {name: 'trace-bytes', title: 'size of an entry on SQLite', anchor: '', wanted: {atMost: 900}, unit: 'B'},
    {name: 'trace-written', title: 'written for an entry on SQLite, 200 at once', anchor: '', wanted: {atMost: 8192}, unit: 'B'},
    {name: 'trace-sweep', title: 'longest hold of the writer by a sweep, SQLite', anchor: '', wanted: {atMost: 50}, unit: 'ms'},
    {
      name: 'intake-with-log',
      title: 'relayed mail of 10 KB, 8 kept sessions, with the event log',
      anchor: `version ${withoutLog?.version}, which has none`,
      wanted: {atLeast: 0.95},
      unit: '×',
    },
  ],
  async run(context) {
    if (
      ['trace-queue-id', 'trace-recipient', 'trace-subject', 'trace-bytes', 'trace-written', 'trace-sweep'].some(context.isWanted)
    )
      await measureSqlite(context);
    if (context.isWanted('intake-with-log')) await measureIntake(context);
  },
};

export const postgresEventLog: Bench = {
  name: 'postgres-event-log',
  isLong: true,
  seconds: 3000,
  rows: traceRows('postgres-', 'PostgreSQL'),
  missing: postgresMissing,
  async run(context) {
    const {owner} = context;
    const postgres = await startPostgres(owner, {settings: {shared_buffers: '1GB', work_mem: '16MB', max_wal_size: '4GB'}});
    const node = await startNode(owner, {postgres, config: {log: {level: 'warn'}}});
    const database = await databaseOf(node.data);
    const client = await postgres.connect(database);
    await client.query(`ALTER DATABASE ${database} SET synchronous_commit = off`);
    const {rows} = await client.query<{value: string}>("SELECT value FROM local_state WHERE name = 'cluster'");
    const {host, port, user, password} = postgres;
    const store = await openPostgresStore({
      settings: {host, port, user, password, database, pool: 4, hasTls: false},
      cluster: rows[0]?.value ?? '',
      nodeId: filler,
      nodeNo: 9,
    });
    const count = sizeOf(context);
    await fill(context, store, count);
    await store.close();
    await client.query('VACUUM ANALYZE mail_event');
    await client.end();
    await measureQuestions(context, 'postgres-', {node, count, loggedBy: filler});
  },
};

const filler = 'filler';

const sizeOf = ({isQuick}: BenchContext): number => (isQuick ? 100_000 : 10_000_000);

const measureSqlite = async (context: BenchContext): Promise<void> => {
  const {owner, report, isWanted} = context;
  const node = await startNode(owner, {config: {log: {level: 'warn'}}});
  const filename = join(node.data, 'mfd.db');
  const store = await openTestStore(filename);
  await store.write.raw('PRAGMA synchronous = OFF');
  await store.write.raw('PRAGMA cache_size = -300000');
  const count = sizeOf(context);
  // Another process that writes: each would wait for the other.
  await node.stop();
  const empty = (await stat(filename)).size;
  await fill(context, store, count);
  await store.write.raw('PRAGMA wal_checkpoint(TRUNCATE)');
  report('trace-bytes', ofBytes(((await stat(filename)).size - empty) / count));
  await node.start();
  await measureQuestions(context, '', {node, count, loggedBy: node.node_id});
  await node.stop();
  if (isWanted('trace-written')) report('trace-written', ofBytes(await bytesWritten(store, count)));
  if (isWanted('trace-sweep')) {
    const holds: number[] = [];
    for (let step = 0; step < 40; step += 1)
      holds.push(await timed(async () => store.transaction(async tx => tx.events.forget({...nothingOld, limit: 200}))));
    report('trace-sweep', {value: Math.max(...holds), own: `p50 ${quantilesOf(holds).p50.toFixed(1)} ms`});
  }
  await store.close();
};

const nothingOld = {before: new Date(0).toISOString(), surplus: 10_000};

const ofBytes = (value: number) => ({value, own: `${Math.round(value)} bytes`});

/** What the system was given to write, of all files of the store. */
const bytesWritten = async (store: Store, start: number): Promise<number> => {
  const written = async () => Number(/^wchar: (\d+)/m.exec(await readFile('/proc/self/io', 'utf8'))?.[1]);
  const [transactions, each] = [50, 200];
  const before = await written();
  for (let n = 0; n < transactions; n += 1)
    await store.transaction(async tx =>
      tx.events.append(Array.from({length: each}, (_, k) => eventOf(start + n * each + k, start))),
    );
  return ((await written()) - before) / (transactions * each);
};

const fill = async ({say}: BenchContext, store: Store, count: number): Promise<void> => {
  for (let n = 0; n < count; n += perTransaction) {
    const events = Array.from({length: perTransaction}, (_, k) => eventOf(n + k, count));
    await store.transaction(async tx => tx.events.append(events));
    // As a node does every two seconds.
    while (await store.transaction(async tx => tx.events.tidy()));
    if (n % 1_000_000 === 0) say(`${n} entries`);
  }
};

const words = ['offer', 'invoice', 'voice', 'urgent', 'parcel', 'Kündigung', 'payment', 'report', 'meeting', 'newsletter'];

/** Thirty days of mail that authenticates, of 20,000 recipients; number `count` is now. */
const eventOf = (n: number, count: number): NewMailEvent => {
  const domain = `letters${n % 300}.example`;
  const server = `mx${n % 9}.${domain}`;
  return {
    ...unknownMail,
    event: n % 5 === 0 ? 'rejected' : 'relayed',
    at: new Date(startedAt - ((count - n) / count) * 30 * 86_400_000).toISOString(),
    queue_id: queueIdOf(n),
    direction: 'inbound',
    domain: `d${n % 50}.example`,
    domain_id: 1 + (n % 50),
    sender: `news${n % 7000}@${domain}`,
    recipients: [recipientOf(n)],
    from: [`news${n % 7000}@${domain}`],
    subject: `Your ${words[n % 10]} number ${n} of ${words[(n >> 3) % 10]}`,
    message_id: `${n.toString(36)}.${(n * 7919) % 99_991}@mail.${domain}`,
    client: {ip: `198.51.${(n >> 8) % 256}.${n % 256}`, name: server, helo: server, tls: true},
    size_bytes: 8000 + (n % 1000),
    score: 1.2,
    symbols: ['SPF_ALLOW', 'DKIM_ALLOW', 'DMARC_ALLOW', 'R_MIXED', 'MIME_GOOD'],
    authentication: {
      spf: {result: 'pass', domain},
      dkim: [{result: 'pass', domain, selector: 's1'}],
      dmarc: {result: 'pass', policy: 'none', domain},
      arc: {result: 'none'},
    },
    reply: '250 2.0.0 Ok: queued as 4XyzAbCdEf',
    server: 'mx1.backend.example:25',
    took_ms: 12,
  };
};

const startedAt = Date.now();
const queueIdOf = (n: number): string => `Q${(1_000_000_000_000 + n * 7919).toString(36)}`;
const recipientOf = (n: number): string => `user${(n * 31) % 20_000}@d${n % 50}.example`;

interface Asked {
  node: TestNode;
  count: number;
  loggedBy: string;
}

/** Over the API, each time with another value. */
const measureQuestions = async (
  {isQuick, isWanted, report, say}: BenchContext,
  prefix: string,
  {node, count, loggedBy}: Asked,
): Promise<void> => {
  const made = await node.api('POST', 'auth/api-keys', {
    body: {name: 'bench', scope: 'read-only', rate_limit_per_minute: 1_000_000},
  });
  const {key} = made.json.data as {key: string};
  const since = new Date(startedAt - 7 * 86_400_000).toISOString();
  const someOf = (round: number) => (round * 999_983) % count;
  const queries: Record<(typeof questions)[number]['name'], (round: number) => Record<string, string>> = {
    'queue-id': () => ({}),
    recipient: round => ({recipient: recipientOf(someOf(round)), since}),
    subject: round => ({subject: [`number ${someOf(round)}`, words[round % 10] ?? '', 'zebra crossing'][round % 3] ?? ''}),
  };
  for (const {name} of questions) {
    if (!isWanted(`${prefix}trace-${name}`)) continue;
    const times: number[] = [];
    for (let round = 1; round <= (isQuick ? 30 : 200); round += 1) {
      const path =
        name === 'queue-id'
          ? `mail/trace/${loggedBy}/${queueIdOf(someOf(round))}`
          : `mail/trace?${new URLSearchParams({limit: '100', ...queries[name](round)})}`;
      times.push(
        await timed(async () => {
          const {status, body} = await node.api('GET', path, {key});
          if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
        }),
      );
    }
    const {p50, p95} = {
      p50: quantilesOf(times).p50,
      p95: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN,
    };
    say(`${prefix}trace-${name}: p50 ${p50.toFixed(1)} ms`);
    report(`${prefix}trace-${name}`, {value: p95, own: `p50 ${p50.toFixed(1)} ms`});
  }
};

const measureIntake = async (context: BenchContext): Promise<void> => {
  const {owner, isQuick, report} = context;
  const missing = withoutLog ? releaseMissing(withoutLog) : 'the release is not known';
  if (!withoutLog || missing !== undefined) {
    report('intake-with-log', {missing: missing ?? ''});
    return;
  }
  const backend = `127.0.0.1:${await startBareBackend(owner)}`;
  const load = startSmtpLoad(owner);
  const nodes = {
    own: await startRelaying(owner, backend),
    release: await startRelaying(owner, backend, await buildRelease(owner, withoutLog)),
  };
  const rate = async ({smtpPort}: TestNode) => load.rate({...kept, port: smtpPort, count: isQuick ? 400 : 700});
  await compareWithRelease(context, 'intake-with-log', {
    works: {own: async () => rate(nodes.own), release: async () => rate(nodes.release)},
    warmUps: 10,
    rounds: 50,
    text: value => `${Math.round(value)} mails/s`,
  });
};

const startRelaying = async (owner: Owner, backend: string, program?: string): Promise<TestNode> => {
  const node = await startNode(owner, {config: {smtp: {reverse_lookup: false}}, ...(program !== undefined && {program})});
  await createExampleDomain(node, backend, relayAll);
  return node;
};
