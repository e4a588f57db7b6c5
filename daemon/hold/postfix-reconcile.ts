// The index held against Postfix's hold queue: what others hold, release and remove there appears and disappears here too.
import {appendAudit} from '../store/audit.ts';
import type {Database, Db} from '../store/database.ts';
import {endLife, findHeldMail, forgetHeldMail, unclaim} from '../store/held-mail.ts';
import {confirmInPostfix, findPostfixMails, listInPostfix, type PostfixMail, reopen} from '../store/postfix-mail.ts';
import {leftByHand} from './hold-actions.ts';
import type {PostfixKeep} from './postfix-keep.ts';
import type {PostfixPrograms} from './postfix-programs.ts';
import type {QueuedMail} from './postqueue.ts';

export interface PostfixReconciliation {
  /** Mails that were put on hold by hand, or by a rule of Postfix. */
  appeared: number;
  /** Mails that have left the hold queue by another hand, or that Postfix never kept. */
  gone: string[];
  /** Mails whose life had ended here and that are on hold again. */
  reopened: string[];
}

interface Needs {
  nodeId: string;
  database: Database;
  programs: Pick<PostfixPrograms, 'queue'>;
  keep: Pick<PostfixKeep, 'isArriving' | 'hasArrived'>;
  /** Whether somebody is acting on the mail. */
  isUnderWay(queueId: string): boolean;
  /** Takes mails into the index that nobody has judged here; resolves with how many there are of them. */
  adopt(mails: QueuedMail[]): Promise<number>;
  now: () => number;
}

/** Each run looks at the queue once. Rejects when Postfix does not say all that is in it: nothing is concluded from half a list. */
export const createPostfixReconcile = (needs: Needs): (() => Promise<PostfixReconciliation>) => {
  const {nodeId, database, programs, keep, isUnderWay, adopt, now} = needs;

  const auditEntry = (queueId: string, entry: {action: string; keyId?: number | null; detail: string}) => ({
    at: new Date(now()).toISOString(),
    key_id: entry.keyId ?? null,
    action: `quarantine.${entry.action}`,
    target: `${nodeId}/${queueId}`,
    remote_address: null,
    result: 'ok',
    detail: entry.detail,
  });
  const write = async <T>(work: (tx: Db) => Promise<T>): Promise<T> => database.write.transaction(work);

  /** On hold according to the index, and not there. */
  const settleMissing = async (row: PostfixMail): Promise<boolean> => {
    const {queue_id: queueId, state, acted_by_key_id: keyId} = row;
    if (isUnderWay(queueId)) return false;
    const at = new Date(now()).toISOString();
    // Whoever had begun died between the act and writing it down.
    if (state === 'releasing' || state === 'discarding') {
      const ending = {state: state === 'releasing' ? 'released' : 'discarded', at, keyId} as const;
      const action = state === 'releasing' ? 'release' : 'discard';
      await write(async tx => {
        if (await endLife(tx, queueId, state, ending))
          await appendAudit(tx, auditEntry(queueId, {action, keyId, detail: 'found done after a restart'}));
      });
      return false;
    }
    return write(async tx => {
      const isGone = await endLife(tx, queueId, 'held', {state: 'gone', at, keyId: null});
      if (isGone) await appendAudit(tx, auditEntry(queueId, {action: 'gone', detail: leftByHand}));
      return isGone;
    });
  };

  const settlePresent = async (row: PostfixMail, {queuedAt, sizeBytes}: QueuedMail): Promise<void> => {
    const {queue_id: queueId} = row;
    keep.hasArrived(queueId);
    if (row.state !== 'held' && isUnderWay(queueId)) return;
    await write(async tx => {
      if (row.queued_at === null) await confirmInPostfix(tx, queueId, {queuedAt, sizeBytes});
      if (row.state !== 'held') await unclaim(tx, [queueId]);
    });
  };

  /** Its life had ended; true when it is held again. */
  const settleEnded = async (row: PostfixMail, {queuedAt, sizeBytes}: QueuedMail): Promise<boolean> => {
    const {queue_id: queueId} = row;
    return write(async tx => {
      const mail = await findHeldMail(tx, queueId);
      if (!mail || mail.state !== row.state) return false;
      await reopen(tx, mail);
      if (row.queued_at === null) await confirmInPostfix(tx, queueId, {queuedAt, sizeBytes});
      await appendAudit(
        tx,
        auditEntry(queueId, {action: 'reopened', detail: `it was ${mail.state} and is on hold in Postfix again`}),
      );
      return true;
    });
  };

  /** Mails on hold that are not held according to the index; those that are not in it at all are returned. */
  const settleStrangers = async (mails: QueuedMail[], startedAt: string, reopened: string[]): Promise<QueuedMail[]> => {
    const ids = mails.map(({queueId}) => queueId);
    const known = new Map((await findPostfixMails(database.read, ids)).map(row => [row.queue_id, row]));
    const unknown: QueuedMail[] = [];
    for (const mail of mails) {
      const {queueId} = mail;
      const row = known.get(queueId);
      // Postfix without long queue ids gives an id again.
      if (row && !isSame(row, mail)) await write(async tx => forgetHeldMail(tx, queueId));
      if (!row || !isSame(row, mail)) unknown.push(mail);
      // What was ended after the look at the queue had begun was there when it was looked at.
      else if (isEnded(row) && !isUnderWay(queueId) && (row.acted_at ?? '') < startedAt && (await settleEnded(row, mail)))
        reopened.push(queueId);
    }
    return unknown;
  };

  return async () => {
    const startedAt = new Date(now()).toISOString();
    const missing = new Map((await listInPostfix(database.read)).map(row => [row.queue_id, row]));
    // As it is before the queue is looked at, which may take longer than an arrival.
    const arriving = new Set([...missing.keys()].filter(keep.isArriving));
    const strangers: QueuedMail[] = [];
    const present: [PostfixMail, QueuedMail][] = [];
    for await (const mail of programs.queue()) {
      const row = missing.get(mail.queueId);
      if (mail.queueName !== 'hold') continue;
      if (!row || !isSame(row, mail)) strangers.push(mail);
      else {
        missing.delete(row.queue_id);
        present.push([row, mail]);
      }
    }
    for (const [row, mail] of present) if (row.queued_at === null || row.state !== 'held') await settlePresent(row, mail);

    const gone: string[] = [];
    for (const row of missing.values()) if (!arriving.has(row.queue_id) && (await settleMissing(row))) gone.push(row.queue_id);

    const reopened: string[] = [];
    const unknown = await settleStrangers(strangers, startedAt, reopened);
    return {appeared: await adopt(unknown), gone, reopened};
  };
};

const isSame = ({queued_at}: PostfixMail, {queuedAt}: QueuedMail): boolean => queued_at === null || queued_at === queuedAt;

const isEnded = ({state}: PostfixMail): boolean => state !== 'held' && state !== 'releasing' && state !== 'discarding';
