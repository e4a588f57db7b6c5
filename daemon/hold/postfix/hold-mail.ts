// Mail that the milter has Postfix hold: its row is written first, so that nothing is on hold whose score nobody knows.

import {Fault} from '../../../shared/fault.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {createBatch} from '../../services/batch.ts';
import type {MailHolder} from '../../services/intake/mail-ports.ts';
import type {Store} from '../../services/ports.ts';
import {isHeld, type NewHeldMail, type StoredHeldMail} from '../../services/quarantine/stored-mail.ts';
import {factsOf, toListEntry} from '../held-facts.ts';

export interface PostfixHolder extends MailHolder {
  /** Whether Postfix may still be about to put this mail on hold. */
  isArriving(queueId: string): boolean;
  /** It is there. */
  hasArrived(queueId: string): void;
}

interface Needs {
  nodeId: string;
  store: Store;
  onHeld(mail: HeldMail, domainId: number): void;
  now: () => number;
}

interface Waiting {
  entry: NewHeldMail;
  isTaken: boolean;
}

/**
 * Without long queue ids Postfix gives the id of a mail that is gone to another one. Of one that is in a queue it does not: whoever
 * says so is not our Postfix, and would have that mail shown and released as another one.
 */
const isReusable = (known: StoredHeldMail): boolean => known.keeper === 'postfix' && (!isHeld(known) || known.queued_at === null);

/**
 * Postfix takes a moment to put on hold what it was asked to, longer where other milters have their say after this one. What
 * comes later is found by reconciling, with what is known of it.
 */
const arrivalMs = 10_000;

export const createPostfixHolder = ({nodeId, store, onHeld, now}: Needs): PostfixHolder => {
  const arriving = new Map<string, number>();
  /** A clock that was put back must not make it longer. */
  const isAhead = (until: number): boolean => now() < until && until <= now() + arrivalMs;
  const forgetArrived = () => {
    for (const [queueId, until] of arriving) {
      if (isAhead(until)) return;
      arriving.delete(queueId);
    }
  };
  const index = createBatch<Waiting>(async mails => {
    await store.transaction(async tx => {
      for (const mail of mails) {
        const known = await tx.hold.find(mail.entry.queue_id);
        mail.isTaken = known !== undefined && !isReusable(known);
        if (mail.isTaken) continue;
        await tx.hold.forget(mail.entry.queue_id);
        await tx.hold.insert([mail.entry]);
      }
    });
  });

  return {
    async hold(mail, ownership, judgement) {
      const {symbols, ...facts} = factsOf(mail, ownership, judgement);
      const postfix = {keeper: 'postfix', queued_at: null, sha256: ''} as const;
      const entry: NewHeldMail = {...facts, ...postfix, symbol_scores: symbols, size_bytes: mail.content.sizeBytes};
      forgetArrived();
      arriving.set(mail.queueId, now() + arrivalMs);
      const waiting = {entry, isTaken: false};
      await index(waiting);
      if (waiting.isTaken) throw new Fault('unavailable', `another mail is held under the queue id ${mail.queueId}`);
      onHeld(toListEntry(nodeId, entry), facts.domain_id);
    },

    isArriving(queueId) {
      const until = arriving.get(queueId);
      if (until === undefined) return false;
      if (isAhead(until)) return true;
      arriving.delete(queueId);
      return false;
    },

    hasArrived: queueId => void arriving.delete(queueId),
  };
};
