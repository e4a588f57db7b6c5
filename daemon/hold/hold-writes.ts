// Writes to held mail. Concurrent writes share a transaction, in which all claims, ends and audit entries are a few statements
// each: separate statements for a thousand mails took seconds.
import {relayedDetail} from '../../shared/audit-relay.ts';
import {groupBy} from '../../shared/collections.ts';
import {Fault} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import type {Actor} from '../services/actor.ts';
import {type NewAuditEntry, nodeEntry} from '../services/audit/stored-entry.ts';
import {createBatch} from '../services/batch.ts';
import type {HoldStore, Store, StoreTransaction} from '../services/ports.ts';
import {type Claim, type Delivered, type Ending, type StoredHeldMail, unjudged} from '../services/quarantine/stored-mail.ts';

interface AuditedAct {
  action: string;
  queueId: string;
  result?: string;
  detail?: string;
}

/** Adds an audit entry to the current transaction. */
export type RecordAudit = (actor: AuditActor, act: AuditedAct) => void;

export interface HoldWrites {
  /** Resolves for exactly one of many concurrent callers with the recipients that the mail has then. */
  claim(queueId: string, claim: Claim): Promise<readonly string[] | undefined>;
  /** Ends a mail and writes its audit entry in one commit. Resolves with the time; undefined when the mail was not in `from`. */
  end(queueId: string, end: End): Promise<string | undefined>;
  /**
   * For writes about one mail that fail only when the database does: an error thrown by `work` rolls back all writes that share the
   * transaction, and all of them reject.
   */
  write(queueId: string, work: (tx: StoreTransaction, recordAudit: RecordAudit) => Promise<void>): Promise<void>;
}

interface End {
  from: Parameters<HoldStore['end']>[1];
  state: Ending['state'];
  actor: AuditActor;
  /** The name of the action in the audit log. */
  action: string;
  /** For the audit log. */
  detail?: string;
  delivered?: Delivered | undefined;
}

type PendingWrite =
  | {kind: 'claim'; queueId: string; claim: Claim; recipients: readonly string[] | undefined}
  | {kind: 'end'; queueId: string; end: End; endedAt: string | undefined}
  | {kind: 'work'; queueId: string; work(tx: StoreTransaction, recordAudit: RecordAudit): Promise<void>};

interface Needs {
  nodeId: string;
  store: Store;
  withReserve<T>(write: () => Promise<T>): Promise<T>;
  now: () => number;
}

export const createHoldWrites = ({nodeId, store, withReserve, now}: Needs): HoldWrites => {
  const entryOf = ({keyId, remoteAddress, relayedBy}: AuditActor, {queueId, action, result = 'ok', detail}: AuditedAct) =>
    heldMailEntry(nodeId, queueId, {
      at: new Date(now()).toISOString(),
      key_id: keyId,
      action,
      remote_address: remoteAddress,
      result,
      detail: relayedDetail(relayedBy, detail),
    });

  const lockAll = async (tx: StoreTransaction, pending: PendingWrite[]): Promise<void> => {
    const ids = new Set(pending.map(({queueId}) => queueId));
    if (ids.size > 1) await tx.hold.lock([...ids]);
  };

  const claimTogether = async (tx: StoreTransaction, pending: PendingWrite[]): Promise<void> => {
    const claims = pending.flatMap(one => (one.kind === 'claim' ? [one] : []));
    for (const some of groupBy(claims, ({claim: {state, keyId}}) => `${state} ${keyId}`).values()) {
      const ids = some.map(({queueId}) => queueId);
      const won = some[0] ? await tx.hold.claim(ids, some[0].claim) : new Map<string, string[]>();
      for (const one of some) {
        one.recipients = won.get(one.queueId);
        // Of two callers with one id, the first one wins.
        won.delete(one.queueId);
      }
    }
  };

  const endTogether = async (tx: StoreTransaction, pending: PendingWrite[], recordAudit: RecordAudit): Promise<void> => {
    const ends = pending.flatMap(one => (one.kind === 'end' ? [one] : []));
    for (const some of groupBy(ends, ({end: {from, state, actor}}) => `${from} ${state} ${actor.keyId}`).values()) {
      if (!some[0]) continue;
      const {from, state, actor} = some[0].end;
      const at = new Date(now()).toISOString();
      const ids = some.map(({queueId}) => queueId);
      const delivered = new Map(some.flatMap(({queueId, end}) => (end.delivered ? [[queueId, end.delivered]] : [])));
      const ended = await tx.hold.end(ids, from, {state, at, keyId: actor.keyId, delivered});
      for (const one of some) {
        one.endedAt = ended.delete(one.queueId) ? at : undefined;
        if (one.endedAt !== undefined)
          recordAudit(one.end.actor, {
            action: one.end.action,
            queueId: one.queueId,
            ...(one.end.detail && {detail: one.end.detail}),
          });
      }
    }
  };

  const submit = createBatch<PendingWrite>(async pending =>
    withReserve(async () =>
      store.transaction(async tx => {
        const entries: NewAuditEntry[] = [];
        const recordAudit: RecordAudit = (actor, act) => void entries.push(entryOf(actor, act));
        await lockAll(tx, pending);
        await claimTogether(tx, pending);
        await endTogether(tx, pending, recordAudit);
        for (const one of pending) if (one.kind === 'work') await one.work(tx, recordAudit);
        await tx.audit.append(...entries);
      }),
    ),
  );

  return {
    async claim(queueId, claim) {
      const pending: PendingWrite = {kind: 'claim', queueId, claim, recipients: undefined};
      await submit(pending);
      return pending.recipients;
    },
    async end(queueId, end) {
      const pending: PendingWrite = {kind: 'end', queueId, end, endedAt: undefined};
      await submit(pending);
      return pending.endedAt;
    },
    write: async (queueId, work) => submit({kind: 'work', queueId, work}),
  };
};

/** Audit entry about a held mail, by default of something that the node itself did or found. */
export const heldMailEntry = (
  nodeId: string,
  queueId: string,
  {action, ...entry}: Pick<NewAuditEntry, 'at' | 'action' | 'detail'> & Partial<NewAuditEntry>,
): NewAuditEntry => nodeEntry({...entry, action: `quarantine.${action}`, target: `${nodeId}/${queueId}`});

export type Act = HoldAction | 'expire';
export type AuditActor = Pick<Actor, 'keyId' | 'remoteAddress' | 'relayedBy'>;

/** An action that a caller requested. */
export interface RequestedAction {
  action: Act;
  actor: AuditActor;
}

/** For some of the recipients: the mail stays held for the others. */
export interface RequestedPart {
  action: HoldAction;
  actor: AuditActor;
  only: readonly string[];
}

/** The actor of retention: the node itself. */
export const nodeActor: AuditActor = {keyId: null, remoteAddress: null};

export const endState = {
  release: 'released',
  discard: 'discarded',
  expire: 'expired',
} as const satisfies Record<Act, Ending['state']>;

export const claimedState = (action: Act): Claim['state'] => (action === 'release' ? 'releasing' : 'discarding');

export const isClaimed = ({state}: StoredHeldMail): boolean => state === 'releasing' || state === 'discarding';

/**
 * Only inbound mail that was judged. Outbound mail is released and discarded for other reasons, and its text resembles the
 * answers to it. Mail without a judgement was put on hold by hand.
 */
export const isTrainable = ({direction, symbol_scores}: StoredHeldMail): boolean =>
  direction === 'inbound' && symbol_scores.some(({name}) => name !== unjudged);

export const leftByHand = 'it had left Postfix’s hold queue by another hand';

export const unknownMail = (nodeId: string, queueId: string): Fault =>
  new Fault('not_found', `there is no held mail ${nodeId}/${queueId}; GET /mail/quarantine lists them`);

/** `acted_at` is when mfd noticed; when the mail left the queue, and why, is in the log of Postfix. */
export const goneMail = (nodeId: string, {queue_id, acted_at}: StoredHeldMail): Fault =>
  new Fault('not_found', `${nodeId}/${queue_id} has left Postfix’s hold queue by another hand, before ${acted_at}`);
