// What the acts on a held mail are called, and what is said of mails that cannot be acted on.

import {Fault} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import type {Actor} from '../services/ports.ts';
import {type Claim, type Ending, type StoredHeldMail, unjudged} from '../services/quarantine/stored-mail.ts';

export type Act = HoldAction | 'expire';
export type AuditActor = Pick<Actor, 'keyId' | 'remoteAddress' | 'relayedBy'>;

/** What somebody does to a mail. */
export interface RequestedAction {
  action: Act;
  actor: AuditActor;
}

/** The node itself, when retention is over. */
export const nobody: AuditActor = {keyId: null, remoteAddress: null};

export const endState = {
  release: 'released',
  discard: 'discarded',
  expire: 'expired',
} as const satisfies Record<Act, Ending['state']>;

export const claimedState = (action: Act): Claim['state'] => (action === 'release' ? 'releasing' : 'discarding');

export const isClaimed = ({state}: StoredHeldMail): boolean => state === 'releasing' || state === 'discarding';

/**
 * Inbound mail that was held for what it is. Outbound mail is released and discarded for other reasons, and its words are those of
 * the answers to it; and what nobody judged was put on hold by hand.
 */
export const isTrainable = ({direction, symbol_scores}: StoredHeldMail): boolean =>
  direction === 'inbound' && symbol_scores.some(({name}) => name !== unjudged);

export const leftByHand = 'it had left Postfix’s hold queue by another hand';

export const unknownMail = (nodeId: string, queueId: string): Fault =>
  new Fault('not_found', `there is no held mail ${nodeId}/${queueId}; GET /mail/quarantine lists them`);

/** Noticed then; when it was, and what became of it, Postfix's log knows. */
export const goneMail = (nodeId: string, {queue_id, acted_at}: StoredHeldMail): Fault =>
  new Fault('not_found', `${nodeId}/${queue_id} has left Postfix’s hold queue by another hand, before ${acted_at}`);
