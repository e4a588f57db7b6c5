// The recipients that the caller of an action names: for whom it is still to be done, and for whom it was done before.
import {Fault} from '../../shared/fault.ts';
import type {ActedState, RecipientState} from '../../shared/held-mail.ts';
import {distinctAddress} from '../../shared/mail-address.ts';
import {isHeld, type RecipientAct, type ReleaseRequest, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';

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
  const known = byAddress(mail, acts);
  const unknown = names.flatMap((name, at) =>
    known.has(distinctAddress(name)) ? [] : [{path: `recipients.${at}`, detail: `${name} is no recipient of this mail`}],
  );
  if (unknown.length > 0)
    throw new Fault('validation_failed', 'the mail has not all of these recipients; nothing was done', {fields: unknown});
  const named = [...new Set(names.map(distinctAddress))].flatMap(name => known.get(name) ?? []);
  const done = named.flatMap(one => one.acts);
  const other = done.find(act => act.state !== state);
  if (other)
    throw new Fault(
      'conflict',
      `${nodeId}/${mail.queue_id} was ${other.state} for ${other.address} at ${other.acted_at}; that cannot be undone`,
    );
  return {
    left: [...new Set(named.flatMap(one => one.left))],
    last: done.toSorted((a, b) => (a.acted_at < b.acted_at ? -1 : 1)).at(-1),
  };
};

interface Known {
  left: string[];
  acts: RecipientAct[];
}

const byAddress = ({recipients}: StoredHeldMail, acts: readonly RecipientAct[]): Map<string, Known> => {
  const known = new Map<string, Known>();
  const of = (address: string): Known => {
    const name = distinctAddress(address);
    const one = known.get(name) ?? {left: [], acts: []};
    known.set(name, one);
    return one;
  };
  for (const address of recipients) of(address).left.push(address);
  for (const act of acts) of(act.address).acts.push(act);
  return known;
};

export const recipientStates = (
  mail: StoredHeldMail,
  acts: readonly RecipientAct[],
  requests: readonly ReleaseRequest[],
): RecipientState[] => {
  const requestedAt = (address: string) => requests.find(request => request.address === address)?.requested_at ?? null;
  const struck = new Set(acts.map(({address}) => address));
  // The acts were read after the mail.
  const left = isHeld(mail) ? mail.recipients.filter(address => !struck.has(address)) : [];
  return [
    ...left.map(address => ({
      address,
      state: 'held' as const,
      acted_at: null,
      acted_by: null,
      requested_at: requestedAt(address),
    })),
    ...acts.map(({address, state, acted_at, acted_by_key_id: acted_by}) => ({
      ...{address, state, acted_at, acted_by},
      requested_at: null,
    })),
  ];
};
