// A judge of races: rules for mails that many callers requested at once, checked against the answer that each of them got.
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {ActionOutcome, HoldAction, MailReference} from '../../shared/held-mail.ts';

/** The request of one caller and its answer: an outcome, or the code of an error. */
export interface Told {
  action: HoldAction;
  keyId: number;
  outcome?: ActionOutcome;
  error?: string;
}

export interface Raced extends MailReference {
  token: string;
  /** The backend refuses it. */
  isRefused: boolean;
  told: readonly Told[];
}

interface Seen {
  deliveries: number;
  isHeld: boolean;
}

const stateOf = {release: 'released', discard: 'discarded'} as const;

export const judgeRace = (mail: Raced, {deliveries, isHeld}: Seen): string[] => {
  const {told, token, isRefused} = mail;
  const winners = told.filter(({outcome}) => outcome?.already === false);
  const [winner] = winners;
  const canEnd = told.some(one => isHeard(one) && (one.action === 'discard' || !isRefused));
  const state = winner?.outcome?.state;
  const wrong = [
    ...(winners.length === Number(canEnd) ? [] : [`has ${winners.length} winners`]),
    ...(isHeld === (winners.length === 0) ? [] : [`is ${isHeld ? 'held' : 'gone'} with ${winners.length} winners`]),
    ...(deliveries === Number(state === 'released') ? [] : [`was ${state ?? 'left'} and delivered ${deliveries} times`]),
    ...told
      .filter(one => !agrees(one, winner, isRefused))
      .map(one => `was answered ${JSON.stringify(one)} beside ${JSON.stringify(winner)}`),
  ];
  return wrong.map(fault => `${token} ${fault}`);
};

/** The others were told that nothing was done and to retry: the owner was too busy to accept them. */
const isHeard = ({error}: Pick<Told, 'error'>): boolean => error !== 'node_unreachable';

/** A caller who wanted the winning action gets who did it and when; a caller who wanted the opposite gets that it is too late. */
const agrees = ({action, outcome, error}: Told, winner: Told | undefined, isRefused: boolean): boolean => {
  if (error === 'node_unreachable') return true;
  if (error === 'delivery_failed') return isRefused && action === 'release';
  const won = winner?.outcome;
  if (!winner || !won) return false;
  if (error !== undefined) return error === 'conflict' && stateOf[action] !== won.state;
  return (
    outcome?.state === stateOf[action] &&
    outcome.state === won.state &&
    outcome.acted_at === won.acted_at &&
    outcome.acted_by_key_id === winner.keyId
  );
};

type Entry = Pick<AuditEntry, 'target' | 'action' | 'key_id' | 'result'>;

/** Exactly one audit entry says who acted on a mail, and how. */
export const judgeAudit = (mails: readonly Raced[], entries: readonly Entry[]): string[] => {
  const acting = new Map<string, string[]>();
  for (const {target, action, key_id, result} of entries)
    if (result === 'ok') acting.set(target, [...(acting.get(target) ?? []), `${action} by ${key_id}`]);
  return mails.flatMap(({token, node_id, queue_id, told}) => {
    const won = told
      .filter(({outcome}) => outcome?.already === false)
      .map(({action, keyId}) => `quarantine.${action} by ${keyId}`);
    const written = acting.get(`${node_id}/${queue_id}`) ?? [];
    return written.join() === won.join()
      ? []
      : [`${token} is in the audit log as ${written.join() || 'nothing'}, was ${won.join() || 'left'}`];
  });
};
