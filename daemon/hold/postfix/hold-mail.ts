// Hold of a mail in Postfix: the milter writes the row first, so that no mail is on hold without a known score.

import {Fault} from '../../../shared/fault.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {createBatch} from '../../services/batch.ts';
import {arrivalOf} from '../../services/events/held-event.ts';
import type {MailHolder} from '../../services/intake/mail.ts';
import type {Store} from '../../services/ports.ts';
import {isHeld, type NewHeldMail, type StoredHeldMail} from '../../services/quarantine/stored-mail.ts';
import {factsOf, toListEntry} from '../held-facts.ts';

export interface PostfixHolder extends MailHolder {
  /** Whether Postfix may still be about to put this mail on hold. */
  isArriving(queueId: string): boolean;
  /** Called when the mail is on hold. */
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
 * Postfix without long queue ids reuses the id of a mail that is gone. It never reuses the id of a mail that is still in a queue:
 * a client that sends such an id is not our Postfix, and could replace the row of that mail.
 */
const isReusable = (known: StoredHeldMail): boolean => known.keeper === 'postfix' && (!isHeld(known) || known.queued_at === null);

/**
 * Postfix takes a moment to put a mail on hold, longer if other milters run after this one. A mail that arrives later is found by
 * reconciliation, with the known facts.
 */
const arrivalMs = 10_000;

export const createPostfixHolder = ({nodeId, store, onHeld, now}: Needs): PostfixHolder => {
  const arriving = new Map<string, number>();
  /** If the clock is set back, waiting must not take longer. */
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
      const entry: NewHeldMail = {
        ...facts,
        ...postfix,
        symbol_scores: symbols,
        size_bytes: mail.content.sizeBytes,
        arrival: arrivalOf(mail),
      };
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
