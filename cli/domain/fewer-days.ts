// Held mail that goes because its domain has fewer days, or is deleted and its days with it: for the questions before.
import type {Domain} from '../../shared/domain.ts';
import {type Reason, reasons} from '../../shared/reason.ts';
import type {AppliedRetention, DomainRetention} from '../../shared/retention.ts';
import {daysOf} from '../../shared/retention-text.ts';
import type {Client} from '../client/client.ts';
import {asCliError} from '../errors.ts';
import {countText} from '../output/cell-text.ts';

/** Days of a reason, before and after; undefined where other nodes may have fewer by their mfd.yaml. */
interface Fall {
  reason: Reason;
  before: number;
  after: number | undefined;
  /** The node whose mfd.yaml says it then. */
  by?: string;
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
  const known = falls.filter(({after}) => after !== undefined);
  const textOf = ({reason, before, after}: Fall): string => `${reason} ${before} → ${after}`;
  const [node] = known.flatMap(({by}) => by ?? []);
  const ofNode = known.filter(({by}) => by !== undefined).map(textOf);
  const others = falls.filter(({after}) => after === undefined).map(({reason, before}) => `${reason} ${before}`);
  return [
    ...known.filter(({by}) => by === undefined).map(textOf),
    ...(node === undefined ? [] : [`${ofNode.join(', ')} by mfd.yaml of ${node}`]),
    ...(others.length > 0 ? [`${others.join(', ')} → as mfd.yaml says, if that is fewer`] : []),
  ].join(', ');
};

const fallOf = (reason: Reason, now: AppliedRetention, wanted: DomainRetention | null): Fall | undefined => {
  const before = now.in_effect[reason];
  const after = daysOf(wanted, reason);
  if (after !== undefined) return after > 0 && after < before ? {reason, before, after} : undefined;
  // Where it is the node that says it now, that does not change.
  if (daysOf(now, reason) === undefined) return undefined;
  const ofNode = now.of_node[reason];
  return ofNode < before ? {reason, before, after: ofNode, by: now.node_id} : {reason, before, after};
};

/** What becomes of the held mail of a domain once it is deleted, for the question. The days of the domain go with it. */
export const heldAfterDeletion = async (
  {domains, quarantine}: Pick<Client, 'domains' | 'quarantine'>,
  {id, name, direction, retention}: Domain,
): Promise<string> => {
  const summary = await quarantine.summary({domain: name}).catch((error: unknown) => void asCliError(error));
  const away = summary?.unreachableNodes ?? [];
  if (summary?.data.count === 0 && away.length === 0) return `No mail is held for ${name}.`;

  const missing = away.length > 0 ? ` (without ${away.join(', ')}, not answering)` : '';
  const held = summary ? `Held mail: ${countText(summary.data.count)}${missing}. It` : 'Its held mail';
  const release = direction === 'outbound' ? '' : '; to release it, there has to be such a domain again';
  const stays = `stays until it expires${retention ? ', as mfd.yaml of its node says' : ''}${release}.`;
  const {data: now} = retention ? await domains.retention(id) : {};
  const falls = now ? reasons.flatMap(reason => fallOf(reason, now, null) ?? []).filter(({after}) => after !== undefined) : [];
  if (falls.length === 0) return `${held} ${stays}`;
  const loss = lossText(await olderMail(quarantine, name, falls));
  return `${held} is held for fewer days then (${changeText(falls)}). ${loss} The rest ${stays}`;
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
