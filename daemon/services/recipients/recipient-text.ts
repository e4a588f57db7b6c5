// What recipients read, in one file for each language.
import type {Reason} from '../../../shared/reason.ts';

export interface RecipientText {
  digestSubject(count: number): string;
  /** `mailbox`: whose mail it is about. */
  digestFirst(count: number, mailbox: string): string;
  /** How many more there are. */
  digestOthers(count: number): string;
  digestLast: string;
  moment(at: Date, timeZone: string): string;
  held(moment: string, reason: Reason): string;
  seeOrRelease: string;
  seeOrRequest: string;
  /** Of the pages that links lead to. */
  page: PageText;
  nobody: string;
  noSubject: string;
  /** In the place of a subject that the mail server refuses. */
  notShown: string;
}

export interface PageText {
  /** By what the page says. */
  titles: Record<'held' | 'requested' | 'released' | 'ended' | 'unknown' | 'failed' | 'underWay', string>;
  labels: Record<'from' | 'to' | 'subject' | 'received' | 'size' | 'why', string>;
  why(reason: Reason): string;
  size(bytes: number): string;
  /** What became of the mail, or may become. `moment`: when. */
  states: {
    held: string;
    request: string;
    none: string;
    requested(moment: string): string;
    outdated: string;
    lost: string;
    released(moment: string): string;
    discarded(moment: string): string;
    expired(moment: string): string;
    gone(moment: string): string;
  };
  release: string;
  request: string;
  unknown: string;
  away: string;
  notDelivered: string;
  notRequested: string;
  /** The server of the recipient refuses it. */
  refused: string;
  /** Nobody knows yet how the delivery ended. */
  underWay: string;
  tooMany: string;
  wrong: string;
  again: string;
}

/** Day and time, in words and by the clock of the zone. */
export const momentIn = (locale: string): RecipientText['moment'] => {
  let latest: {timeZone: string; format: Intl.DateTimeFormat} | undefined;
  return (at, timeZone) => {
    // To make one takes as long as to write a digest.
    if (latest?.timeZone !== timeZone)
      latest = {timeZone, format: new Intl.DateTimeFormat(locale, {dateStyle: 'medium', timeStyle: 'short', timeZone})};
    return latest.format.format(at).replaceAll('\u202f', ' ');
  };
};
