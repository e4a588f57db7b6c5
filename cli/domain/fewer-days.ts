// What a new retention of a domain deletes: held mail that is older than its new days.
import {type Reason, reasons} from '../../shared/reason.ts';
import type {AppliedRetention, DomainRetention} from '../../shared/retention.ts';
import {daysOf} from '../../shared/retention-text.ts';
import type {Client} from '../client/client.ts';
import {asCliError} from '../errors.ts';
import {countText} from '../output/cell-text.ts';

/** Days of a reason, before and after; undefined where mfd.yaml of each node says it then. */
interface Fall {
  reason: Reason;
  before: number;
  after: number | undefined;
}

export interface FewerDays {
  /** `spam 30 → 3, rbl 30 → 3` */
  change: string;
  /** What becomes of held mail. */
  loss: string;
}

/** Undefined where no mail is held for fewer days than now. Days that the node refuses are no such days. */
export const fewerDays = async (
  {quarantine}: Pick<Client, 'quarantine'>,
  now: AppliedRetention,
  wanted: DomainRetention | null,
): Promise<FewerDays | undefined> => {
  const falls = reasons.flatMap(reason => fallOf(reason, now, wanted) ?? []);
  if (falls.length === 0) return undefined;
  return {change: changeText(falls), loss: lossText(await olderMail(quarantine, now.domain, falls))};
};

const changeText = (falls: readonly Fall[]): string => {
  const known = falls.flatMap(({reason, before, after}) => (after === undefined ? [] : [`${reason} ${before} → ${after}`]));
  const others = falls.filter(({after}) => after === undefined).map(({reason, before}) => `${reason} ${before}`);
  return [...known, ...(others.length > 0 ? [`${others.join(', ')} → as mfd.yaml says, if that is fewer`] : [])].join(', ');
};

const fallOf = (reason: Reason, now: AppliedRetention, wanted: DomainRetention | null): Fall | undefined => {
  const before = now.in_effect[reason];
  const after = daysOf(wanted, reason);
  // Where it is the node that says it now, that does not change. Otherwise nobody here knows what the nodes say.
  if (after === undefined) return daysOf(now, reason) === undefined ? undefined : {reason, before, after};
  return after > 0 && after < before ? {reason, before, after} : undefined;
};

/** How many mails one request finds; undefined where it takes more, or some nodes or this key cannot tell. */
const olderMail = async (
  quarantine: Client['quarantine'],
  domain: string,
  falls: readonly Fall[],
): Promise<number | undefined> => {
  const [days, ...others] = new Set(falls.map(({after}) => after));
  if (days === undefined || others.length > 0) return undefined;
  const until = new Date(Date.now() - days * 24 * 3600 * 1000).toISOString();
  const answer = await quarantine.summary({domain, until}).catch((error: unknown) => void asCliError(error));
  if (!answer || answer.unreachableNodes.length > 0) return undefined;
  const counts = answer.data.groups.filter(group => falls.some(({reason}) => reason === group.reason)).map(({count}) => count);
  return counts.reduce((sum, count) => sum + count, 0);
};

const lossText = (count: number | undefined): string => {
  if (count === 0) return 'No held mail is older than that now.';
  if (count === undefined) return 'Held mail that is older than that is deleted for good within minutes.';
  const [what, is] = count === 1 ? ['mail', 'is'] : ['mails', 'are'];
  return `${countText(count)} held ${what} that ${is} older than that ${is} deleted for good within minutes.`;
};
