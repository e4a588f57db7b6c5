// Names of actions and states of held mail, and the Faults for mail that cannot be acted on.

import {Fault} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import type {Actor} from '../services/access/actor.ts';
import {type Claim, type Ending, type StoredHeldMail, unjudged} from '../services/quarantine/stored-mail.ts';

export type Act = HoldAction | 'expire';
export type AuditActor = Pick<Actor, 'keyId' | 'remoteAddress' | 'relayedBy'>;

/** An action that a caller requested. */
export interface RequestedAction {
  action: Act;
  actor: AuditActor;
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
