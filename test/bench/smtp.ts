// Mail coming in over SMTP: held, relayed, scored by Rspamd, and what that does to everything else.
import {Agent, get} from 'node:http';
import {text} from 'node:stream/consumers';
import {setTimeout as delay} from 'node:timers/promises';
import {holdAll, relayAll} from '../helpers/mail-node.ts';
import {startNode, type TestNode} from '../helpers/node.ts';
import {postfixMissing} from '../helpers/postfix.ts';
import {isRspamdInstalled, startRspamd} from '../helpers/rspamd.ts';
import {alternate} from './alternate.ts';
import {checkRate} from './anchors/checkv2.ts';
import {startDiscardingPostfix, startHoldingPostfix} from './anchors/postfix.ts';
import type {Bench, BenchContext, Measured, Row} from './bench.ts';
import {quantilesOf} from './quantiles.ts';
import {type SmtpLoad, startBareBackend, startSmtpLoad} from './smtp-load.ts';
import {mailTo} from './smtp-mail.ts';

const rows: readonly Row[] = [
  {
    name: 'held',
    title: 'held mail of 10 KB, 8 kept sessions',
    anchor: 'Postfix with a HOLD rule',
    wanted: {atLeast: 1.5},
    unit: '×',
  },
  {
    name: 'held-single',
    title: 'the same, one mail a session, 200 clients at once',
    anchor: 'Postfix with a HOLD rule',
    wanted: {atLeast: 0.8},
    unit: '×',
  },
  {
    name: 'relayed',
    title: 'relayed mail of 10 KB, 8 kept sessions',
    anchor: 'the same Postfix, without us',
    wanted: {atLeast: 0.5},
    unit: '×',
  },
  {
    name: 'rspamd',
    title: 'relayed mail that Rspamd scores, 8 kept sessions',
    anchor: 'bare /checkv2, 8 at a time',
    wanted: {atLeast: 0.6},
    unit: '×',
  },
  {
    name: 'event-loop',
    title: 'delay p99 under 200 mails/s and 100 lists/s',
    anchor: '',
    wanted: {atMost: 20},
    unit: 'ms',
  },
];

const sizeBytes = 10 * 1024;
const to = 'ben@example.com';
const kept = {clients: 8, mailsPerSession: Number.MAX_SAFE_INTEGER, to, sizeBytes};
const single = {clients: 200, mailsPerSession: 1, to, sizeBytes};

interface Stage {
  context: BenchContext;
  load: SmtpLoad;
  backendPort: number;
}

export const smtp: Bench = {
  name: 'smtp',
  rows,
  seconds: 130,
  async run(context) {
    const {owner, isWanted} = context;
    const stage = {context, load: startSmtpLoad(owner), backendPort: await startBareBackend(owner)};
    if (['held', 'held-single', 'event-loop'].some(isWanted)) await measureHeld(stage);
    if (isWanted('relayed')) await measureRelayed(stage);
    if (isWanted('rspamd')) await measureRspamd(stage);
  },
};

/** The node, and the port that its clients send to. */
const startFilter = async (
  {context}: Stage,
  {backendPort, domain, config}: {backendPort: number; domain: object; config?: Record<string, unknown>},
): Promise<TestNode> => {
  const node = await startNode(context.owner, {config: {...config, smtp: {reverse_lookup: false}}});
  const body = {name: 'example.com', backend_servers: [`127.0.0.1:${backendPort}`], ...domain};
  const made = await node.api('POST', 'domains', {body});
  if (made.status !== 201) throw new Error(`POST /domains: ${made.status} ${made.body}`);
  return node;
};

interface Rates {
  own(): Promise<number>;
  anchor(): Promise<number>;
}

/** How ours relates to the anchor, in mails a second, both in turn. */
const compare = async ({context}: Stage, row: string, rates: Rates): Promise<void> => {
  if (!context.isWanted(row)) return;
  const measured = await alternate({...rates}, {rounds: context.isQuick ? 2 : 4, warmUps: context.isQuick ? 1 : 2});
  const [own, anchor] = [quantilesOf(measured.own).p50, quantilesOf(measured.anchor).p50];
  context.report(row, {value: own / anchor, own: perSecond(own), anchor: perSecond(anchor)});
};

const perSecond = (rate: number): string => `${Math.round(rate)} mails/s`;

const measureHeld = async (stage: Stage): Promise<void> => {
  const {context, load, backendPort} = stage;
  const node = await startFilter(stage, {backendPort, domain: holdAll});
  const why = postfixMissing();
  if (why === undefined) {
    const postfix = await startHoldingPostfix(context.owner);
    const count = context.isQuick ? 600 : 2000;
    const rates = (order: typeof kept, count: number): Rates => ({
      own: async () => load.rate({...order, port: node.smtpPort, count}),
      anchor: async () => load.rate({...order, port: postfix.port, count}),
    });
    await compare(stage, 'held', rates(kept, count));
    await compare(stage, 'held-single', rates(single, Math.round(count * 0.6)));
    await postfix.stop();
  } else for (const row of ['held', 'held-single']) context.report(row, {missing: why});
  if (context.isWanted('event-loop')) context.report('event-loop', await eventLoopDelay(stage, node));
  await node.stop();
};

/** Of what the daemon says about itself: the histogram behind it begins anew at each look. */
const eventLoopDelay = async ({context, load}: Stage, node: TestNode): Promise<Measured> => {
  const seconds = context.isQuick ? 4 : 20;
  await readDelay(node);
  const lists = listing(node, 100, seconds);
  const {accepted, failure} = await load.run({
    ...kept,
    port: node.smtpPort,
    clients: 16,
    count: 200 * seconds,
    perSecond: 200,
  });
  const listed = await lists;
  const delayMs = await readDelay(node);
  if (failure !== undefined) return {missing: failure};
  return {value: delayMs, own: `${delayMs.toFixed(1)} ms, with ${accepted} mails and ${listed} lists in ${seconds} s`};
};

const listing = async (node: TestNode, perSecond: number, seconds: number): Promise<number> => {
  const startedAt = performance.now();
  const answers: Promise<number>[] = [];
  for (let n = 0; n < perSecond * seconds; n += 1) {
    const aheadMs = (n * 1000) / perSecond - (performance.now() - startedAt);
    if (aheadMs > 0) await delay(aheadMs);
    answers.push(node.api('GET', 'mail/quarantine?limit=100').then(({status}) => status));
  }
  return (await Promise.all(answers)).filter(status => status === 200).length;
};

/** Milliseconds at the 99th of a hundred, since it was read before. */
const readDelay = async ({metrics_url}: TestNode): Promise<number> => {
  const metrics = await new Promise<string>((resolve, reject) => {
    get(new URL('/metrics', metrics_url), {agent: new Agent()}, response => resolve(text(response))).on('error', reject);
  });
  const seconds = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(metrics)?.[1];
  return Number(seconds) * 1000;
};

const measureRelayed = async (stage: Stage): Promise<void> => {
  const {context, load} = stage;
  const why = postfixMissing();
  if (why !== undefined) {
    context.report('relayed', {missing: why});
    return;
  }
  const postfix = await startDiscardingPostfix(context.owner);
  const node = await startFilter(stage, {backendPort: postfix.port, domain: relayAll});
  const count = context.isQuick ? 400 : 2000;
  await compare(stage, 'relayed', {
    own: async () => load.rate({...kept, port: node.smtpPort, count}),
    anchor: async () => load.rate({...kept, port: postfix.port, count}),
  });
  await node.stop();
  await postfix.stop();
};

const measureRspamd = async (stage: Stage): Promise<void> => {
  const {context, load, backendPort} = stage;
  if (!isRspamdInstalled()) {
    context.report('rspamd', {missing: 'Rspamd is not installed'});
    return;
  }
  const url = await startRspamd(context.owner);
  const node = await startFilter(stage, {backendPort, domain: relayAll, config: {scanner: {type: 'rspamd', rspamd_url: url}}});
  const count = context.isQuick ? 120 : 600;
  const mail = mailTo(to, sizeBytes);
  await compare(stage, 'rspamd', {
    own: async () => load.rate({...kept, port: node.smtpPort, count}),
    anchor: async () => checkRate({url, count, concurrency: kept.clients, mail, to}),
  });
  await node.stop();
};
