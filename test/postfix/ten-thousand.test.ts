// Ten thousand mails on hold in a real Postfix beside a real node: the list, single actions, and bulk actions.
import type {ActionOutcome, HeldMail} from '../../shared/held-mail.ts';
import {quantilesOf} from '../bench/quantiles.ts';
import {eventually} from '../helpers/eventually.ts';
import {forFile} from '../helpers/for-file.ts';
import {postfixMissing} from '../helpers/postfix.ts';
import {holdEverything, type PostfixNode, startPostfixNode} from '../helpers/postfix-node.ts';
import {sendMany} from '../helpers/send-many.ts';
import {serialWith} from '../helpers/test-with.ts';

const missing = postfixMissing();
const ifPostfix = serialWith('Postfix', missing);

const heldCount = 10_000;
const pageSize = 1000;

const subject = (n: number) => `Grüße ${n}`;
const mail = (n: number) =>
  `From: <ada@example.net>\r\nTo: <ben@example.com>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= ${n}\r\nMessage-Id: <${n}@example.net>\r\nDate: Sun, 1 Mar 2026 12:00:00 +0000\r\n\r\nHello.\r\n`;

const nodeOfFile =
  missing === undefined &&
  forFile(async owner => {
    const node = await startPostfixNode(owner, {
      // Mail that is released through Postfix is accepted at once and discarded.
      settings: {...holdEverything, in_flow_delay: '0', relay_transport: 'discard:'},
      reconcileSeconds: 1,
    });
    const toMail = (n: number) => ({to: `ben${n}@example.com`, raw: mail(n)});
    await sendMany({port: node.postfix.port, count: heldCount, mail: toMail});
    return node;
  });

/** Waits until the node reports this number of held mails. */
const nodeWith = async (count: number): Promise<PostfixNode> => {
  if (!nodeOfFile) throw new Error(missing);
  const node = nodeOfFile();
  await eventually(async () => (await page(node, 1)).total === count, 120_000);
  return node;
};

const page = async (node: PostfixNode, limit: number, offset = 0): Promise<{mails: HeldMail[]; total: number}> => {
  const {status, json, headers, body} = await node.api('GET', `mail/quarantine?limit=${limit}&offset=${offset}`);
  if (status !== 200) throw new Error(`GET /mail/quarantine: ${status} ${body}`);
  return {mails: json.data, total: Number(headers['x-total-count'])};
};

/** Reads all pages of the list. */
const listed = async (node: PostfixNode): Promise<HeldMail[]> => {
  const mails: HeldMail[] = [];
  for (let offset = 0; ; offset += pageSize) {
    const next = (await page(node, pageSize, offset)).mails;
    if (next.length === 0) return mails;
    mails.push(...next);
  }
};

/** Some items that one side has more often than the other: nobody reads ten thousand differences. */
const difference = (actual: readonly string[], expected: readonly string[]): string[] => {
  const counts = new Map<string, number>();
  for (const text of actual) counts.set(text, (counts.get(text) ?? 0) + 1);
  for (const text of expected) counts.set(text, (counts.get(text) ?? 0) - 1);
  return [...counts].flatMap(([text, count]) => (count === 0 ? [] : `${text}: ${count}`)).slice(0, 10);
};

const idsOf = (mails: readonly {queue_id: string}[]) => mails.map(({queue_id}) => queue_id);

const isNewestFirst = (mails: readonly HeldMail[]): boolean =>
  mails.every((one, n) => {
    const before = mails[n - 1];
    if (before === undefined) return true;
    return before.arrived_at > one.arrived_at || (before.arrived_at === one.arrived_at && before.queue_id < one.queue_id);
  });

const medianMs = async (work: () => Promise<unknown>): Promise<string> => {
  const times: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return `${quantilesOf(times).p50.toFixed(1)} ms`;
};

ifPostfix('each of ten thousand is in the list once, newest first, with its subject, and the totals agree', async t => {
  const node = await nodeWith(heldCount);

  const mails = await listed(node);
  const summary = await node.api('GET', 'mail/quarantine/summary');

  t.deepEqual(difference(idsOf(mails), await node.onHold()), []);
  const subjects = mails.map(one => one.subject);
  t.deepEqual(
    difference(
      subjects,
      subjects.map((_, n) => subject(n)),
    ),
    [],
  );
  t.true(mails.every(one => one.recipients[0] === `ben${one.subject.split(' ')[1]}@example.com`));
  t.true(isNewestFirst(mails));
  t.is(summary.json.data.count, heldCount);
  const time = {
    api: await medianMs(async () => page(node, 100)),
    mfctl: await medianMs(async () => node.mfctl(['quarantine', 'list'])),
    postqueue: await medianMs(async () => node.postfix.command('postqueue', ['-j'])),
  };
  t.log(`newest 100: API ${time.api}, mfctl quarantine list ${time.mfctl}; postqueue -j ${time.postqueue}`);
});

ifPostfix('five hundred released and five hundred removed by hand disappear, and nothing else', async t => {
  const node = await nodeWith(heldCount);
  const before = await listed(node);
  const [released, removed] = [before.slice(0, 500), before.slice(5000, 5500)];
  const lines = (mails: HeldMail[]) => mails.map(({queue_id}) => `${queue_id}\n`).join('');

  await node.postfix.command('postsuper', ['-H', '-', 'hold'], lines(released));
  await node.postfix.command('postsuper', ['-d', '-', 'hold'], lines(removed));

  await nodeWith(heldCount - 1000);
  const taken = new Set([...released, ...removed]);
  const left = idsOf(before.filter(one => !taken.has(one)));
  t.deepEqual(difference(idsOf(await listed(node)), left), []);
});

ifPostfix('a thousand are discarded at once, here and in Postfix', async t => {
  const node = await nodeWith(heldCount - 1000);
  const before = await listed(node);
  const some = before.filter((_, n) => n % 9 === 0);

  const items = some.map(({node_id, queue_id}) => ({node_id, queue_id}));
  const {json} = await node.api('POST', 'mail/quarantine/discard', {body: {items}});

  t.is(some.length, 1000);
  t.true(
    json.data.every(({queue_id, state}: ActionOutcome, n: number) => queue_id === some[n]?.queue_id && state === 'discarded'),
  );
  const left = idsOf(before.filter((_, n) => n % 9 !== 0));
  t.deepEqual(difference(idsOf(await listed(node)), left), []);
  t.deepEqual(difference(await node.onHold(), left), []);
  t.is((await page(node, 1)).total, 8000);
});
