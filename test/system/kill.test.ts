// A node that is killed again and again under load: what it acknowledged is there, once, and it is soon back.
import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import {type Held, holdAll, type MailNode, splitTrace, startMailNode} from '../helpers/mail-node.ts';
import {connect} from '../helpers/smtp-client.ts';

const rounds = 50;
const clients = 6;
const large = 400_000;

/** What the world was told. Whatever was under way at the kill may have happened or not. */
interface Told {
  /** By queue id: the mail as sent. */
  held: Map<string, string>;
  /** Queue ids of mails that were ended. */
  ended: Set<string>;
  endsUnderWay: Set<string>;
  /** The last change of the domain that was acknowledged, and the one under way. */
  change: {acknowledged: number; underWay: number};
  refusals: string[];
}

const sendMails = async (node: MailNode, told: Told, name: string): Promise<void> => {
  const client = await connect(node.smtpPort);
  try {
    await client.cmd('EHLO client.test');
    for (let n = 0; ; n += 1) {
      const raw = `Subject: ${name}-${n}\r\nMessage-ID: <${name}-${n}@example.net>\r\n\r\n${`${name.padEnd(76)}\r\n`.repeat(n % 10 === 3 ? large / 78 : 20)}`;
      await client.cmd('MAIL FROM:<ada@example.net>');
      await client.cmd('RCPT TO:<ben@example.com>');
      const {code, text} = await client.data(raw);
      const id = /queued as (\w+)/.exec(text)?.[1];
      if (code === 250 && id !== undefined) told.held.set(id, raw);
      else told.refusals.push(`${code} ${text}`);
      await delay(2);
    }
  } finally {
    client.destroy();
  }
};

const changeDomain = async (node: MailNode, told: Told): Promise<void> => {
  for (;;) {
    told.change.underWay += 1;
    await node.updateDomain({tenant_id: told.change.underWay});
    told.change.acknowledged = told.change.underWay;
  }
};

const endMails = async (node: MailNode, told: Told, mails: Held[]): Promise<void> => {
  for (const [n, mail] of mails.entries()) {
    told.endsUnderWay.add(mail.queue_id);
    const {status} = await node.act(n % 2 ? 'discard' : 'release', mail);
    if (status === 200) told.ended.add(mail.queue_id);
    await delay(20);
  }
};

const allHeld = async (node: MailNode): Promise<Held[]> => {
  const mails: Held[] = [];
  for (;;) {
    const page = await node.held(`limit=1000&offset=${mails.length}`);
    mails.push(...page);
    if (page.length < 1000) return mails;
  }
};

test(`${rounds} kills under load lose nothing that was acknowledged`, async t => {
  t.timeout(600_000);
  const node = await startMailNode(t, {domain: holdAll});
  const told: Told = {
    held: new Map(),
    ended: new Set(),
    endsUnderWay: new Set(),
    change: {acknowledged: 0, underWay: 0},
    refusals: [],
  };
  const figures = {kills: 0, acknowledged: 0, lost: 0, ended: 0, unacknowledged: 0, slowestStartMs: 0};
  let mails: Held[] = [];

  for (let round = 1; round <= rounds; round += 1) {
    const acknowledgedBefore = told.held.size;
    const unknownBefore = mails.filter(({queue_id}) => !told.held.has(queue_id)).length;
    const oldest = mails.slice(-12);
    const load = [
      ...Array.from({length: clients}, (_, n) => sendMails(node, told, `r${round}c${n}`)),
      changeDomain(node, told),
      endMails(node, told, oldest),
    ].map(job => job.catch(() => undefined));
    await delay(200 + Math.random() * 500);
    await node.stop('SIGKILL');
    await Promise.all(load);
    const began = Date.now();
    await node.start();
    figures.kills += 1;
    figures.slowestStartMs = Math.max(figures.slowestStartMs, Date.now() - began);

    mails = await allHeld(node);
    const files = (await node.spooled('held')).sort();
    const listed = new Set(mails.map(({queue_id}) => queue_id));
    const subjects = mails.map(({subject}) => subject);
    const {tenant_id: tenant} = (await node.api('GET', `domains/${node.domainId}`)).json.data;

    // A mail that was being ended may be gone; one that was not must be there.
    const lost = [...told.held.keys()].filter(id => !listed.has(id) && !told.endsUnderWay.has(id));
    figures.lost += lost.length;
    figures.acknowledged += told.held.size - acknowledgedBefore;
    figures.unacknowledged += mails.filter(({queue_id}) => !told.held.has(queue_id)).length - unknownBefore;
    t.deepEqual(lost, [], `round ${round}`);
    t.deepEqual(
      [...told.ended].filter(id => listed.has(id)),
      [],
      `round ${round}: ended and yet there`,
    );
    t.is(new Set(subjects).size, subjects.length, `round ${round}: no mail twice`);
    t.is(listed.size, mails.length);
    t.deepEqual(files, [...listed].sort(), `round ${round}: files match rows`);
    t.deepEqual(await node.spooled('tmp'), []);
    t.deepEqual(await node.spooled('damaged'), []);
    // Of several rounds in which none was acknowledged, each may have left one behind.
    const {acknowledged, underWay} = told.change;
    t.true(acknowledged <= tenant && tenant <= underWay, `round ${round}: ${acknowledged} <= ${tenant} <= ${underWay}`);

    for (const mail of mails.filter(({queue_id}) => told.held.has(queue_id)).slice(0, 5))
      t.true(splitTrace(await node.body(mail)).rest.equals(Buffer.from(told.held.get(mail.queue_id) ?? '')), mail.subject);

    if (round % 10 > 0) continue;
    // What is known to be there goes, so that the next rounds do not look at all of it again.
    figures.ended += told.ended.size;
    mails = await clear(node, told, mails);
    t.deepEqual(mails, []);
  }

  t.deepEqual(told.refusals, []);
  t.log(
    Object.entries(figures)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  );
  t.is(figures.lost, 0);
});

/** Discards all, in bulk, and starts a new account. */
const clear = async (node: MailNode, told: Told, mails: Held[]): Promise<Held[]> => {
  for (let from = 0; from < mails.length; from += 1000) {
    const items = mails.slice(from, from + 1000).map(({node_id, queue_id}) => ({node_id, queue_id}));
    const {status, body} = await node.api('POST', 'mail/quarantine/discard', {body: {items}});
    if (status !== 200) throw new Error(`bulk discard: ${status} ${body}`);
  }
  for (const account of [told.held, told.ended, told.endsUnderWay]) account.clear();
  return allHeld(node);
};
