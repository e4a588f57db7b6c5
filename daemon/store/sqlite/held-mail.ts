import type {ActedState, HeldMail, HeldMailDetail, SymbolScore} from '../../../shared/held-mail.ts';
import {comparableAddress, domainOf} from '../../../shared/mail-address.ts';
import type {Db} from './database.ts';
import {adjustCounts, adjustSums} from './held-count.ts';
import {chunksOf, idsPerStatement} from './rows.ts';

/**
 * held → releasing → released; held → discarding → discarded or expired, in one step from held where nothing has to be done before.
 * held → lost → held when bytes of the spool go, and come, without our doing; held → gone when a mail has left Postfix's hold queue so.
 */
export type HeldState = 'held' | 'releasing' | 'discarding' | 'released' | 'discarded' | 'expired' | 'lost' | 'gone';
export const heldStates: readonly string[] = [
  'held',
  'releasing',
  'discarding',
  'released',
  'discarded',
  'expired',
  'lost',
  'gone',
] satisfies HeldState[];

/** Who has the bytes: this node's spool, or the hold queue of its Postfix. */
export type KeeperName = 'spool' | 'postfix';

export interface StoredHeldMail extends Omit<HeldMailDetail, 'node_id' | 'symbols'> {
  state: HeldState;
  domain_id: number;
  is_utf8: boolean;
  is_eight_bit: boolean;
  keeper: KeeperName;
  /** Seconds since 1970 at which Postfix made its queue file; null in the spool, and until Postfix was asked. */
  queued_at: number | null;
  /** Of the bytes in the spool, else empty. */
  sha256: string;
  acted_at: string | null;
  acted_by_key_id: number | null;
}

/** `is_held` while the bytes are in our keeping; the `folded_…` columns are what filters compare with. */
export type HeldMailRow = Omit<StoredHeldMail, 'recipients' | 'symbol_scores' | 'is_utf8' | 'is_eight_bit'> & {
  recipients: string;
  symbols: string;
  is_held: boolean | number;
  is_utf8: boolean | number;
  is_eight_bit: boolean | number;
  sender_domain: string;
  folded_sender: string;
  folded_subject: string;
};

export type NewHeldMail = Omit<StoredHeldMail, 'state' | 'acted_at' | 'acted_by_key_id'>;

export const recipientRows = ({queue_id, recipients}: NewHeldMail) =>
  [...new Set(recipients.map(comparableAddress))].map(recipient => ({queue_id, recipient}));

/** Forgets a mail, whatever its state, as Postfix without long queue ids gives an id again. */
export const forgetHeldMail = async (tx: Db, queueId: string): Promise<void> => {
  const mail = await findHeldMail(tx, queueId);
  if (!mail) return;
  if (isHeld(mail)) await adjustCounts(tx, mail, -1);
  await tx<HeldMailRow>('held_mail').where({queue_id: queueId}).delete();
};

/** In our keeping, and in the list. */
export const isHeld = ({state}: Pick<StoredHeldMail, 'state'>): boolean =>
  state === 'held' || state === 'releasing' || state === 'discarding';

export const findHeldMail = async (db: Db, queueId: string): Promise<StoredHeldMail | undefined> => {
  const row = await db<HeldMailRow>('held_mail').where({queue_id: queueId}).first();
  return row && rowToHeldMail(row);
};

/** Those that are there, in no order. */
export const findHeldMails = async (db: Db, queueIds: string[]): Promise<StoredHeldMail[]> => {
  const found: StoredHeldMail[] = [];
  for (const some of chunksOf(queueIds, idsPerStatement))
    found.push(...(await db<HeldMailRow>('held_mail').whereIn('queue_id', some)).map(rowToHeldMail));
  return found;
};

export interface Claim {
  state: ClaimedState;
  keyId: number | null;
}

type ClaimedState = 'releasing' | 'discarding';
const claimedStates: ClaimedState[] = ['releasing', 'discarding'];

/** Of many callers that want the same mail, the UPDATE lets exactly one through: the ids of those that nobody had claimed. */
export const claimAll = async (tx: Db, queueIds: string[], {state, keyId}: Claim): Promise<Set<string>> => {
  const won = new Set<string>();
  for (const some of chunksOf(queueIds, idsPerStatement)) {
    const claimed = await tx<HeldMailRow>('held_mail')
      .whereIn('queue_id', some)
      .where({state: 'held'})
      .update({state, acted_by_key_id: keyId})
      .returning('queue_id');
    for (const {queue_id} of claimed) won.add(queue_id);
  }
  return won;
};

export const claim = async (tx: Db, queueId: string, wanted: Claim): Promise<boolean> =>
  (await claimAll(tx, [queueId], wanted)).size === 1;

/** Back into the queue: after an action that failed, or by the node that finds the claim of its former life. */
export const unclaim = async (tx: Db, queueIds: string[]): Promise<void> => {
  await tx<HeldMailRow>('held_mail')
    .whereIn('queue_id', queueIds)
    .whereIn('state', claimedStates)
    .update({state: 'held', acted_by_key_id: null});
};

/** Mails that somebody has begun to act on. */
export const listClaimed = async (db: Db, keeper: KeeperName): Promise<string[]> =>
  db<HeldMailRow>('held_mail').whereRaw('is_held').where({keeper}).whereIn('state', claimedStates).pluck('queue_id');

export interface Ending {
  state: ActedState | 'expired' | 'lost' | 'gone';
  at: string;
  keyId: number | null;
}

/** The ends of mails' lives in the queue; the rows stay so that "who released this" has an answer. Returns the ids of those that were in `from`. */
export const endLives = async (
  tx: Db,
  queueIds: string[],
  from: 'held' | ClaimedState,
  {state, at, keyId}: Ending,
): Promise<Set<string>> => {
  const ended: Ended[] = [];
  for (const some of chunksOf(queueIds, idsPerStatement))
    ended.push(
      ...(await tx<HeldMailRow>('held_mail')
        .whereIn('queue_id', some)
        .where({state: from})
        .update({state, is_held: false, acted_at: at, acted_by_key_id: keyId})
        .returning(['queue_id', 'domain_id', 'domain', 'reason', 'size_bytes'])),
    );
  await adjustSums(
    tx,
    ended.map(({queue_id, ...mail}) => ({
      ...mail,
      domain_id: Number(mail.domain_id),
      count: -1,
      size_bytes: -Number(mail.size_bytes),
    })),
  );
  return new Set(ended.map(({queue_id}) => queue_id));
};

type Ended = Pick<HeldMailRow, 'queue_id' | 'domain_id' | 'domain' | 'reason' | 'size_bytes'>;

/** False if it was not in `from`. */
export const endLife = async (tx: Db, queueId: string, from: 'held' | ClaimedState, ending: Ending): Promise<boolean> =>
  (await endLives(tx, [queueId], from, ending)).size === 1;

/** Back into the queue, for a mail whose life had ended and that is there again; false if it is not in the state it was seen in. */
export const reopen = async (tx: Db, mail: StoredHeldMail): Promise<boolean> => {
  const changed = await tx<HeldMailRow>('held_mail')
    .where({queue_id: mail.queue_id, state: mail.state})
    .update({state: 'held', is_held: true, acted_at: null, acted_by_key_id: null});
  if (changed === 1) await adjustCounts(tx, mail, 1);
  return changed === 1;
};

/** Strikes recipients who have had the mail, so that nobody gets it twice. */
export const strikeRecipients = async (tx: Db, queueId: string, delivered: string[]): Promise<void> => {
  const mail = await findHeldMail(tx, queueId);
  if (!mail) return;
  const left = mail.recipients.filter(recipient => !delivered.includes(recipient));
  await tx<HeldMailRow>('held_mail')
    .where({queue_id: queueId})
    .update({recipients: JSON.stringify(left)});
  await tx('held_recipient').where({queue_id: queueId}).whereNotIn('recipient', left.map(comparableAddress)).delete();
};

/** The only symbol of what Postfix's rules, or somebody by hand, put on hold: nobody here has given it a score. */
export const unjudged = 'POSTFIX_HOLD';
export const unjudgedSymbols = [{name: unjudged, score: 0}];

/**
 * Mail that arrived before `before`, oldest first: what the retention sweep looks at. Whoever put on hold what nobody here has judged
 * had their reasons, long before this node came perhaps, and in Postfix it stays until they say otherwise.
 */
export const listArrivedBefore = async (db: Db, reason: string, before: string, limit: number): Promise<string[]> =>
  db<HeldMailRow>('held_mail')
    .whereRaw('is_held')
    .where({reason: reason as HeldMail['reason'], state: 'held'})
    .whereNot({symbols: JSON.stringify(unjudgedSymbols)})
    .where('arrived_at', '<', before)
    .orderBy('arrived_at')
    .limit(limit)
    .pluck('queue_id');

/** Forgets mails that ended before `before`; returns how many. */
export const forgetEnded = async (tx: Db, before: string, limit: number): Promise<number> => {
  const old = await tx<HeldMailRow>('held_mail')
    .whereRaw('NOT is_held')
    .where('acted_at', '<', before)
    .limit(limit)
    .pluck('queue_id');
  if (old.length > 0) await tx<HeldMailRow>('held_mail').whereIn('queue_id', old).delete();
  return old.length;
};

/** Takes a row out that may say anything; whether it was counted is for `recountHeld` to find out. */
export const dropHeldRow = async (tx: Db, queueId: string): Promise<void> => {
  await tx<HeldMailRow>('held_mail').where({queue_id: queueId}).delete();
};

export const countHeldBy = async (db: Db, keeper: KeeperName): Promise<number> => {
  const row = await db<HeldMailRow>('held_mail').whereRaw('is_held').where({keeper}).count({count: '*'}).first();
  return Number((row as {count: number | string} | undefined)?.count ?? 0);
};

export const toRow = ({recipients, symbol_scores, ...mail}: NewHeldMail): HeldMailRow => ({
  ...mail,
  state: 'held',
  is_held: true,
  recipients: JSON.stringify(recipients),
  symbols: JSON.stringify(symbol_scores),
  sender_domain: domainOf(mail.sender) ?? '',
  folded_sender: comparableAddress(mail.sender),
  folded_subject: foldSubject(mail.subject),
  acted_at: null,
  acted_by_key_id: null,
});

/** Subjects are compared without regard to case, in the form the filter is folded to as well. */
export const foldSubject = (text: string): string => text.normalize('NFC').toLowerCase();

export const rowToHeldMail = (row: HeldMailRow): StoredHeldMail => ({
  queue_id: row.queue_id,
  state: row.state,
  direction: row.direction,
  domain: row.domain,
  domain_id: Number(row.domain_id),
  sender: row.sender,
  recipients: JSON.parse(row.recipients) as string[],
  subject: row.subject,
  score: row.score,
  symbol_scores: JSON.parse(row.symbols) as SymbolScore[],
  reason: row.reason,
  size_bytes: Number(row.size_bytes),
  arrived_at: row.arrived_at,
  is_utf8: Boolean(row.is_utf8),
  is_eight_bit: Boolean(row.is_eight_bit),
  client_ip: row.client_ip,
  helo: row.helo,
  keeper: row.keeper,
  queued_at: row.queued_at === null ? null : Number(row.queued_at),
  sha256: row.sha256,
  acted_at: row.acted_at,
  acted_by_key_id: row.acted_by_key_id === null ? null : Number(row.acted_by_key_id),
});
