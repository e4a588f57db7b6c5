// Held mail of a node, moved with its bytes into the store that all nodes share.
import {createHash} from 'node:crypto';
import type {Spool} from '../hold/spool/spool.ts';
import {CommandError} from '../node/command-error.ts';
import type {CommonStore, CommonTransaction} from '../services/common-store.ts';
import type {NodeStore} from '../services/node-store.ts';
import {type Ending, isHeld, type RecipientAct, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import type {StoredRows} from '../store/sqlite/stored-rows.ts';

export interface MailCounts {
  /** Held mails whose bytes were in the spool. */
  held: number;
  bytes: number;
  /** Mails in the hold queue of Postfix, where their bytes stay. */
  postfix: number;
  /** Mails that were released, discarded or expired: only who did it is kept. */
  ended: number;
}

interface Source {
  store: NodeStore;
  rows: StoredRows;
  spool: Spool;
}

const batchSize = 200;

/** With `to`, copies what is not there yet, and compares every body after it was written. Without it, checks the files. */
export const moveMail = async ({store, rows, spool}: Source, to: CommonStore | undefined): Promise<MailCounts> => {
  await requireNoActions(store);
  const counts: MailCounts = {held: 0, bytes: 0, postfix: 0, ended: 0};
  for (let after = ''; ; ) {
    const ids = await rows.queueIds(after, batchSize);
    const last = ids.at(-1);
    if (last === undefined) return counts;
    after = last;
    const mails = await store.hold.findAll(ids);
    const isSpooled = (mail: StoredHeldMail) => mail.keeper === 'spool' && isHeld(mail);
    const acts = await store.hold.recipientActs(ids);
    if (to)
      await moveRows(
        to,
        mails.filter(mail => !isSpooled(mail)),
      );
    for (const mail of mails.filter(isSpooled)) await (to ? moveBody(spool, to, {mail, acts}) : requireIntact(spool, mail));
    if (to) await moveActs(to, acts);
    if (to) await moveDigests(store, to, ids);
    for (const mail of mails) count(counts, mail);
  }
};

const count = (counts: MailCounts, mail: StoredHeldMail): void => {
  if (!isHeld(mail)) counts.ended += 1;
  else if (mail.keeper === 'postfix') counts.postfix += 1;
  else {
    counts.held += 1;
    counts.bytes += mail.size_bytes;
  }
};

/** The start of the node finds out the result of an interrupted action, from the spool and from Postfix. */
const requireNoActions = async ({hold}: NodeStore): Promise<void> => {
  const claimed = [...(await hold.listClaimed('spool')), ...(await hold.listClaimed('postfix'))];
  if (claimed.length > 0)
    throw new CommandError(
      `actions on ${claimed.length} mail(s) were interrupted, such as on ${claimed[0]}; start this node with SQLite, stop it, and repeat`,
    );
};

/** Rows without bytes. A mail that was copied by an earlier run, and released or discarded here since, has ended there too. */
const moveRows = async (to: CommonStore, mails: StoredHeldMail[]): Promise<void> => {
  const known = new Map((await to.hold.findAll(mails.map(({queue_id}) => queue_id))).map(mail => [mail.queue_id, mail.state]));
  const news = mails.filter(({queue_id}) => !known.has(queue_id));
  const ended = mails.filter(mail => !isHeld(mail) && (known.get(mail.queue_id) ?? 'held') === 'held');
  if (news.length === 0 && ended.length === 0) return;
  await to.transaction(async tx => {
    await insert(tx, news);
    for (const mail of ended) await tx.hold.end([mail.queue_id], 'held', endingOf(mail), 'moved');
  });
};

type Acts = ReadonlyMap<string, readonly RecipientAct[]>;

/** Also what was done for recipients since an earlier run. */
const moveActs = async (to: CommonStore, acts: Acts): Promise<void> => {
  if (acts.size === 0) return;
  await to.transaction(async tx => {
    for (const [queueId, some] of acts) await tx.hold.strikeRecipients(queueId, some);
  });
};

/** What was listed in digests, and what recipients asked for since. */
const moveDigests = async ({digests, hold}: NodeStore, to: CommonStore, ids: readonly string[]): Promise<void> => {
  const [found, requests] = [await digests.ofMails(ids), await hold.requests(ids)];
  if (found.entries.length + found.links.length + requests.length === 0) return;
  await to.transaction(async tx => {
    await tx.digests.restore(found);
    await tx.hold.restoreRequests(requests);
  });
};

const insert = async (tx: CommonTransaction, mails: StoredHeldMail[]): Promise<void> => {
  await tx.hold.insert(mails, 'moved');
  const confirmations = mails.flatMap(({queue_id, queued_at, size_bytes}) =>
    queued_at === null ? [] : [{queueId: queue_id, queuedAt: queued_at, sizeBytes: size_bytes}],
  );
  if (confirmations.length > 0) await tx.postfix.confirm(confirmations);
};

const endingOf = ({state, acted_at, arrived_at, acted_by_key_id: keyId}: StoredHeldMail): Ending => ({
  state: state as Ending['state'],
  at: acted_at ?? arrived_at,
  keyId,
});

const moveBody = async (spool: Spool, to: CommonStore, {mail, acts}: {mail: StoredHeldMail; acts: Acts}): Promise<void> => {
  const {queue_id: queueId} = mail;
  const before = await to.hold.find(queueId);
  if (before) await strikeDelivered(to, mail, {before, acts: acts.get(queueId) ?? []});
  else {
    const {content} = await requireIntact(spool, mail);
    await to.transaction(async tx => {
      await insert(tx, [mail]);
      await tx.bodies.write(queueId, content.open());
    });
  }
  if ((await hashOf(to, queueId)) === mail.sha256) return;
  // Another node may have released or discarded it since an earlier run.
  if ((await to.hold.find(queueId))?.state !== 'held') return;
  throw new CommandError(`the bytes of ${queueId} in PostgreSQL differ from those in the spool; this node is unchanged`);
};

/** Recipients to whom it was delivered here since an earlier run must not get it again. An earlier version kept nothing else of them. */
const strikeDelivered = async (
  to: CommonStore,
  {queue_id, recipients}: StoredHeldMail,
  {before, acts}: {before: StoredHeldMail; acts: readonly RecipientAct[]},
): Promise<void> => {
  const unknown = {state: 'released' as const, acted_at: new Date().toISOString(), acted_by_key_id: null};
  const delivered = before.recipients
    .filter(address => !recipients.includes(address))
    .map(address => acts.find(act => act.address === address) ?? {address, ...unknown});
  if (delivered.length > 0) await to.transaction(async tx => tx.hold.strikeRecipients(queue_id, delivered));
};

const requireIntact = async (spool: Spool, {queue_id: queueId, sha256}: StoredHeldMail) => {
  const mail = await spool.open(queueId).catch(() => undefined);
  if (mail && mail.sha256 === sha256 && (await spool.isIntact(mail))) return mail;
  throw new CommandError(`the file of ${queueId} is missing or damaged; run mfd repair first, which says what is lost`);
};

const hashOf = async ({bodies}: CommonStore, queueId: string): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of bodies.open(queueId)) hash.update(chunk as Buffer);
  return hash.digest('hex');
};
