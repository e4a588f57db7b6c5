// Actions on held mail through the API, beside an earlier release.
import type {MailReference} from '../../shared/held-mail.ts';
import {formatHostPort} from '../../shared/host-port.ts';
import type {ApiAnswer} from '../helpers/api-call.ts';
import type {Owner} from '../helpers/daemon.ts';
import {holdAll} from '../helpers/mail-node.ts';
import {type NodeOptions, startNode} from '../helpers/node.ts';
import {buildRelease} from '../helpers/released-build.ts';
import {sendMany} from '../helpers/send-many.ts';
import {compareWithRelease, type Pair, releaseToCompare, releaseToCompareMissing} from './against-release.ts';
import {timed} from './alternate.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {type CountingSink, startCountingSink} from './counting-sink.ts';
import {quantilesOf} from './quantiles.ts';

const asFast = {anchor: `version ${releaseToCompare.version}`, wanted: {atLeast: 0.95}, unit: '×'} as const;

const rows: readonly Row[] = [
  {name: 'release', title: 'one release until it is delivered, releases a second', ...asFast},
  {name: 'bulk-discard', title: 'discard of 1,000 at once, mails a second', ...asFast},
  {name: 'bulk-release', title: 'release of 1,000 at once until delivered, mails a second', ...asFast},
];

export const actions: Bench = {
  name: 'actions',
  rows,
  seconds: 60,
  missing: releaseToCompareMissing,
  async run(context) {
    await measure(context);
  },
};

const bulkSize = 1000;
/** One discard takes a tenth of a second, less than a garbage collection, so a round is the median of some. */
const discards = 3;
const raw = `From: <ada@example.net>\r\nTo: <ben@example.com>\r\nSubject: Offer\r\nMessage-Id: <offer@example.net>\r\nDate: Sun, 1 Mar 2026 12:00:00 +0000\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(128)}`;

/** A node with held mail. */
export interface Hold {
  sink: CountingSink;
  hold(count: number): Promise<void>;
  mails(): Promise<MailReference[]>;
  releaseOne(mail: MailReference): Promise<void>;
  actOnMany(action: 'release' | 'discard', mails: readonly MailReference[]): Promise<void>;
}

export const startHold = async (owner: Owner, options: Pick<NodeOptions, 'program' | 'postgres'> = {}): Promise<Hold> => {
  const sink = await startCountingSink(owner);
  const node = await startNode(owner, {
    config: {log: {level: 'warn'}, smtp: {reverse_lookup: false}},
    ...options,
  });
  const call = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
    const answer = await node.api(method, path, {body});
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return answer;
  };
  await call('POST', 'domains', {name: 'example.com', backend_servers: [formatHostPort(sink.server)], ...holdAll});

  return {
    sink,
    hold: async count => sendMany({port: node.smtpPort, count, mail: n => ({to: `user${n % 1000}@example.com`, raw})}),
    async mails() {
      const mails: MailReference[] = [];
      for (let total = 1; mails.length < total; ) {
        const page = await call('GET', `mail/quarantine?limit=1000&offset=${mails.length}`);
        mails.push(...page.json.data);
        total = Number(page.headers['x-total-count']);
      }
      return mails;
    },
    releaseOne: async ({node_id, queue_id}) => void (await call('POST', `mail/quarantine/${node_id}/${queue_id}/release`)),
    async actOnMany(action, mails) {
      const items = mails.map(({node_id, queue_id}) => ({node_id, queue_id}));
      const {json} = await call('POST', `mail/quarantine/${action}`, {items});
      const failed = (json.data as {error?: unknown}[]).find(({error}) => error);
      if (failed) throw new Error(JSON.stringify(failed));
    },
  };
};

const measure = async (context: BenchContext): Promise<void> => {
  const {isQuick, isWanted, say, owner} = context;
  const [singles, rounds] = isQuick ? [10, 3] : [60, 5];
  const held = (rounds + 1) * ((discards + 1) * bulkSize + singles);
  const holds: Pair<Hold> = {
    own: await startHold(owner),
    release: await startHold(owner, {program: await buildRelease(owner, releaseToCompare)}),
  };
  const filling = await timed(async () => {
    for (const hold of Object.values(holds)) await hold.hold(held);
  });
  say(`${held} mails on hold in each after ${(filling / 1000).toFixed(1)} s`);
  const stocks: Pair<Stock> = {
    own: {hold: holds.own, mails: await holds.own.mails()},
    release: {hold: holds.release, mails: await holds.release.mails()},
  };

  const compare = async (row: string, act: (stock: Stock) => Promise<number>) => {
    const works = {own: async () => act(stocks.own), release: async () => act(stocks.release)};
    if (isWanted(row)) await compareWithRelease(context, row, {works, warmUps: 1, text: value => `${Math.round(value)}/s`});
  };
  await compare('release', async stock => releasesASecond(stock, singles));
  await compare('bulk-discard', async ({hold, mails}) =>
    speedOf(discards, bulkSize, async () => {
      const some = mails.splice(-bulkSize);
      return timed(async () => hold.actOnMany('discard', some));
    }),
  );
  await compare('bulk-release', async ({hold, mails}) => {
    const some = mails.splice(-bulkSize);
    return perSecond(bulkSize, await untilDelivered(hold.sink, bulkSize, async () => hold.actOnMany('release', some)));
  });
};

export interface Stock {
  hold: Hold;
  mails: MailReference[];
}

const perSecond = (count: number, ms: number): number => (count * 1000) / ms;

export const releasesASecond = async ({hold, mails}: Stock, count: number): Promise<number> =>
  speedOf(count, 1, async () => {
    const mail = take(mails);
    return untilDelivered(hold.sink, 1, async () => hold.releaseOne(mail));
  });

/** Mails per second: the median of several acts on `mails` each, one after the other. `act` resolves with milliseconds. */
const speedOf = async (acts: number, mails: number, act: () => Promise<number>): Promise<number> => {
  const times: number[] = [];
  for (let n = 0; n < acts; n += 1) times.push(await act());
  return perSecond(mails, quantilesOf(times).p50);
};

/** Milliseconds until the sink has received this many more mails and the request has been answered. */
const untilDelivered = async (sink: CountingSink, count: number, act: () => Promise<void>): Promise<number> => {
  const wanted = sink.delivered() + count;
  return timed(async () => Promise.all([act(), sink.reached(wanted)]));
};

const take = <T>(items: T[]): T => {
  const item = items.pop();
  if (item === undefined) throw new Error('there are no held mails left');
  return item;
};
