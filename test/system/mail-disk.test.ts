// A node on a disk that fills up: it reports this in time, keeps accepted mail, and can free space again.
import {join} from 'node:path';
import test from 'ava';
import {eventually, type Held, holdAll, type MailNode, splitTrace, startMailNode} from '../helpers/mail-node.ts';
import {mayMount, smallDisk} from '../helpers/small-disk.ts';

const withSmallDisk = mayMount ? test.serial : test.serial.skip;

const startOnSmallDisk = async (t: Parameters<typeof startMailNode>[0]) => {
  const disk = await smallDisk(t, 64 * 1024 * 1024);
  const config = {spool: {ballast: '2M', min_free: '4M'}};
  return {disk, node: await startMailNode(t, {data: join(disk.path, 'data'), config, domain: holdAll})};
};

const mailOf = (n: number, sizeBytes: number) =>
  `Subject: number ${n}\r\n\r\n${`${String(n).padEnd(76)}\r\n`.repeat(sizeBytes / 78)}`;

interface Sent {
  /** Acknowledged mails by queue id. */
  acknowledged: Map<string, string>;
  refusals: number[];
}

/** Sends with several clients until each of them has been refused three times in a row. */
const sendUntilFull = async (node: MailNode, sizeBytes: number, clients = 12): Promise<Sent> => {
  const acknowledged = new Map<string, string>();
  const refusals: number[] = [];
  let number = 0;
  const client = async () => {
    for (let refused = 0; refused < 3; ) {
      number += 1;
      const raw = mailOf(number, sizeBytes);
      const {code, text} = await node.send(raw);
      const id = /queued as (\w+)/.exec(text)?.[1];
      if (code === 250 && id !== undefined) acknowledged.set(id, raw);
      else refusals.push(code);
      refused = code === 250 ? 0 : refused + 1;
    }
  };
  await Promise.all(Array.from({length: clients}, client));
  return {acknowledged, refusals};
};

/** The node looks at its disk every two seconds; until then it may take a mail for which there is room. */
const isNearlyFull = async ({metrics_url}: MailNode): Promise<boolean> =>
  (await (await fetch(`${metrics_url}/readyz`)).text()).includes('the disk is nearly full');

const idsOf = (mails: Held[]): string[] => mails.map(({queue_id}) => queue_id).sort();

for (const [what, sizeBytes] of [
  ['small', 39_000],
  ['large', 1_000_000],
] as const) {
  withSmallDisk(
    `[small disk] filled with ${what} mails: 452, all that was taken is there, discard makes room, a restart loses nothing`,
    async t => {
      const {disk, node} = await startOnSmallDisk(t);
      const isThere = async (wanted: Map<string, string>) => {
        const mails = await eventually(node.allHeld);
        t.deepEqual(idsOf(mails), [...wanted.keys()].sort());
        const looked = mails.filter((_, n) => n % Math.ceil(mails.length / 60) === 0);
        for (const mail of looked)
          t.true(splitTrace(await node.body(mail)).rest.equals(Buffer.from(wanted.get(mail.queue_id) ?? '')), mail.queue_id);
        return mails;
      };

      const {acknowledged, refusals} = await sendUntilFull(node, sizeBytes);
      const mails = await isThere(acknowledged);

      t.true(acknowledged.size > 20, `${acknowledged.size} taken`);
      t.deepEqual([...new Set(refusals)], [452]);
      t.deepEqual(await node.spooled('tmp'), []);
      t.deepEqual((await node.spooled('held')).sort(), idsOf(mails));

      // Another program takes the rest, to the last byte.
      await disk.fill();
      t.is(disk.freeBytes(), 0);
      await isThere(acknowledged);
      await eventually(async () => isNearlyFull(node));
      const [first, ...others] = mails as [Held, ...Held[]];
      const discarded = await node.act('discard', first);
      t.is(discarded.status, 200, `${discarded.body}`);
      acknowledged.delete(first.queue_id);
      t.is((await node.send(mailOf(0, 78))).code, 452);

      for (const mail of others.slice(0, others.length / 2)) {
        const {status, body} = await node.act('discard', mail);
        t.is(status, 200, `${body}`);
        acknowledged.delete(mail.queue_id);
      }
      const again = await eventually(async () => {
        const reply = await node.send(mailOf(-1, 780));
        return reply.code === 250 ? reply : undefined;
      });
      acknowledged.set(/queued as (\w+)/.exec(again.text)?.[1] ?? '', mailOf(-1, 780));
      await isThere(acknowledged);

      await disk.clear();
      t.is(await node.stop(), 0);
      await node.start();
      await isThere(acknowledged);
      t.deepEqual(await node.spooled('damaged'), []);
      t.log(`${what}: ${refusals.length} refused; ${acknowledged.size} held in the end`);
    },
  );
}

withSmallDisk('[small disk] a node that is killed on a full disk starts again on it and lets go of mail', async t => {
  const {disk, node} = await startOnSmallDisk(t);
  const {acknowledged} = await sendUntilFull(node, 400_000);
  await disk.fill();

  await node.stop('SIGKILL');
  await node.start();

  const mails = await node.held();
  t.deepEqual(idsOf(mails), [...acknowledged.keys()].sort());
  const [first] = mails as [Held];
  t.true(splitTrace(await node.body(first)).rest.equals(Buffer.from(acknowledged.get(first.queue_id) ?? '')));
  t.is((await node.send(mailOf(0, 78))).code, 452);
  for (const mail of mails.slice(0, 40)) t.is((await node.act('discard', mail)).status, 200);
  await eventually(async () => ((await node.send(mailOf(1, 78))).code === 250 ? true : undefined));
});
