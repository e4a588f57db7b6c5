// The recipients that the caller of an action names: for whom it is still to be done, and for whom it was done before.
import {Fault} from '../../shared/fault.ts';
import type {ActedState, RecipientState} from '../../shared/held-mail.ts';
import {comparableAddress} from '../../shared/mail-address.ts';
import {isHeld, type RecipientAct, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';

export interface Named {
  /** As the mail has them. */
  left: string[];
  /** The last of the acts for the others. */
  last: RecipientAct | undefined;
}

/**
 * `acts` are those on the mail so far. Throws a Fault `validation_failed` that names who is no recipient of it, or `conflict` where
 * something else was done than `state`.
 */
export const namedRecipients = (
  mail: StoredHeldMail,
  acts: readonly RecipientAct[],
  {names, state, nodeId}: {names: readonly string[]; state: ActedState; nodeId: string},
): Named => {
  const left: string[] = [];
  const done: RecipientAct[] = [];
  const unknown: {path: string; detail: string}[] = [];
  for (const [at, name] of names.entries()) {
    const isNamed = (address: string) => comparableAddress(address) === comparableAddress(name);
    const some = mail.recipients.filter(isNamed);
    const acted = acts.filter(({address}) => isNamed(address));
    left.push(...some);
    done.push(...acted);
    if (some.length + acted.length === 0) unknown.push({path: `recipients.${at}`, detail: 'is no recipient of this mail'});
  }
  if (unknown.length > 0)
    throw new Fault('validation_failed', 'not all of them are recipients of this mail; nothing was done', {fields: unknown});
  const other = done.find(act => act.state !== state);
  if (other)
    throw new Fault(
      'conflict',
      `${nodeId}/${mail.queue_id} was ${other.state} for ${other.address} at ${other.acted_at}; that cannot be undone`,
    );
  return {left: [...new Set(left)], last: done.toSorted((a, b) => (a.acted_at < b.acted_at ? -1 : 1)).at(-1)};
};

export const recipientStates = (mail: StoredHeldMail, acts: readonly RecipientAct[]): RecipientState[] => {
  const struck = new Set(acts.map(({address}) => address));
  // The acts were read after the mail.
  const left = isHeld(mail) ? mail.recipients.filter(address => !struck.has(address)) : [];
  return [
    ...left.map(address => ({address, state: 'held' as const, acted_at: null, acted_by: null})),
    ...acts.map(({address, state, acted_at, acted_by_key_id}) => ({address, state, acted_at, acted_by: acted_by_key_id})),
  ];
};
