// What may happen to held mail, through the API and out of our own spool, beside the same by Postfix's programs on its hold queue.
import {readFile} from 'node:fs/promises';
import {Agent} from 'node:https';
import type {MailReference} from '../../shared/held-mail.ts';
import {formatHostPort} from '../../shared/host-port.ts';
import {type ApiAnswer, callApi} from '../helpers/api-call.ts';
import {holdAll} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {postfixMissing} from '../helpers/postfix.ts';
import {sendMany} from '../helpers/send-many.ts';
import {alternate, timed} from './alternate.ts';
import {type PostfixHold, startPostfixHold} from './anchors/postfix-hold.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {type CountingSink, startCountingSink} from './counting-sink.ts';
import {quantilesOf} from './quantiles.ts';

const rows: readonly Row[] = [
  {
    name: 'release',
    title: 'one release until delivered, p50',
    anchor: 'postsuper -H, postqueue -i',
    wanted: {atMost: 0.7},
    unit: '×',
  },
  {name: 'bulk-discard', title: 'discard of 1,000 at once', anchor: 'postsuper -d -', wanted: {atMost: 0.7}, unit: '×'},
  {
    name: 'bulk-release',
    title: 'release of 1,000 at once until delivered',
    anchor: 'postsuper -H -, postqueue -f',
    wanted: {atMost: 1},
    unit: '×',
  },
];

export const actions: Bench = {
  name: 'actions',
  rows,
  seconds: 60,
  async run(context) {
    const missing = postfixMissing();
    if (missing) for (const {name} of rows) context.report(name, {missing});
    else await measure(context);
  },
};

const bulkSize = 1000;
const raw = `From: <ada@example.net>\r\nTo: <ben@example.com>\r\nSubject: Offer\r\nMessage-Id: <offer@example.net>\r\nDate: Sun, 1 Mar 2026 12:00:00 +0000\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(128)}`;

interface OwnHold {
  sink: CountingSink;
  hold(count: number): Promise<void>;
  mails(): Promise<MailReference[]>;
  releaseOne(mail: MailReference): Promise<void>;
  actOnMany(action: 'release' | 'discard', mails: readonly MailReference[]): Promise<void>;
}

const startOwnHold = async ({owner}: BenchContext): Promise<OwnHold> => {
  const sink = await startCountingSink(owner);
  const node = await startNode(owner, {config: {log: {level: 'warn'}, smtp: {reverse_lookup: false}}});
  const agent = new Agent({keepAlive: true, ca: await readFile(node.ca_file, 'utf8')});
  owner.teardown(() => agent.destroy());
  const call = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
    const answer = await callApi(agent, node, {method, path, body});
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
  const [singles, bulks] = isQuick ? [10, 2] : [60, 5];
  const needed = (bulks + 1) * bulkSize * 2 + singles + 100;
  const [own, postfix] = [await startOwnHold(context), await startPostfixHold(owner)];
  const filling = await timed(async () => {
    await own.hold(needed);
    await postfix.hold(needed, raw);
  });
  say(`${needed} mails on hold in each after ${(filling / 1000).toFixed(1)} s`);
  const stock: Stock = {own, postfix, mails: await own.mails(), ids: await postfix.ids()};

  if (isWanted('release')) await measureRelease(context, stock, singles);
  if (isWanted('bulk-discard')) await measureDiscard(context, stock, bulks);
  if (isWanted('bulk-release')) await measureBulkRelease(context, stock, bulks);
};

interface Stock {
  own: OwnHold;
  postfix: PostfixHold;
  mails: MailReference[];
  ids: string[];
}

/** Until the sink has had as many more as are acted on, and whoever was asked has answered. */
const untilDelivered = async (sink: CountingSink, count: number, act: () => Promise<void>): Promise<number> => {
  const wanted = sink.delivered() + count;
  return timed(async () => Promise.all([act(), sink.reached(wanted)]));
};

const take = <T>(items: T[]): T => {
  const item = items.pop();
  if (item === undefined) throw new Error('there are no held mails left');
  return item;
};

const reportTimes = ({report}: BenchContext, row: string, times: {own: number[]; postfix: number[]}): void => {
  const [own, postfix] = [quantilesOf(times.own), quantilesOf(times.postfix)];
  report(row, {value: own.p50 / postfix.p50, own: `${own.p50.toFixed(1)} ms`, anchor: `${postfix.p50.toFixed(1)} ms`});
};

const measureRelease = async (context: BenchContext, {own, postfix, mails, ids}: Stock, rounds: number): Promise<void> => {
  const times = await alternate(
    {
      own: async () => {
        const mail = take(mails);
        return untilDelivered(own.sink, 1, async () => own.releaseOne(mail));
      },
      postfix: async () => {
        const id = take(ids);
        return untilDelivered(postfix.sink, 1, async () => postfix.releaseOne(id));
      },
    },
    {rounds, warmUps: 5},
  );
  reportTimes(context, 'release', times);
};

const measureDiscard = async (context: BenchContext, {own, postfix, mails, ids}: Stock, rounds: number): Promise<void> => {
  const times = await alternate(
    {
      own: async () => {
        const some = mails.splice(-bulkSize);
        return timed(async () => own.actOnMany('discard', some));
      },
      postfix: async () => {
        const some = ids.splice(-bulkSize);
        return timed(async () => postfix.discardMany(some));
      },
    },
    {rounds},
  );
  reportTimes(context, 'bulk-discard', times);
};

const measureBulkRelease = async (context: BenchContext, {own, postfix, mails, ids}: Stock, rounds: number): Promise<void> => {
  const times = await alternate(
    {
      own: async () => {
        const some = mails.splice(-bulkSize);
        return untilDelivered(own.sink, bulkSize, async () => own.actOnMany('release', some));
      },
      postfix: async () => {
        const some = ids.splice(-bulkSize);
        return untilDelivered(postfix.sink, bulkSize, async () => postfix.releaseMany(some));
      },
    },
    {rounds},
  );
  reportTimes(context, 'bulk-release', times);
};
