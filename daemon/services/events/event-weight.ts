// What entries of the event log cost: strangers decide how many recipients a mail has, and how long its subject is.
import {maxSubjectChars} from '../../../shared/mail-event.ts';
import type {NewMailEvent} from './mail-event.ts';

type Weighed = Pick<NewMailEvent, 'recipients' | 'from' | 'subject'>;

/** About the number of hashes under which the entry is found. Those of a subject cost a quarter. */
export const weightOf = ({recipients, from, subject}: Weighed): number =>
  12 + recipients.length + (from?.length ?? 0) + Math.ceil(Math.min(subject?.length ?? 0, maxSubjectChars) / 4);

/** Of 200 plain entries. */
export const weightOfPiece = 5000;

/** Pieces of at most this weight, or of one entry that has more. */
export function* inPieces<T extends Weighed>(events: readonly T[], most = weightOfPiece): Generator<readonly T[]> {
  let start = 0;
  let weight = 0;
  for (const [at, event] of events.entries()) {
    const own = weightOf(event);
    if (at > start && weight + own > most) {
      yield events.slice(start, at);
      start = at;
      weight = 0;
    }
    weight += own;
  }
  if (start < events.length) yield events.slice(start);
}
