// Allow filters for the senders of released mail: planning and adding them. Prints nothing.

import {canonicalPattern} from '../../shared/filter-rules.ts';
import {hasOwn} from '../../shared/has-own.ts';
import type {BulkResult, HeldMail, HeldMailDetail, MailReference} from '../../shared/held-mail.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import {quoted} from '../../shared/shell-word.ts';
import type {Client} from '../client/client.ts';
import {inParallel} from '../client/in-parallel.ts';
import {CliError, exitCodes} from '../errors.ts';
import {countText, plural} from '../output/cell-text.ts';
import type {Session} from '../session.ts';
import {mailId} from './held-mail-columns.ts';
import {
  blockText,
  bounceFault,
  filtersNaming,
  filtersOf,
  isUnverified,
  removingCommand,
  requireFilterRight,
  senderFault,
} from './sender-filter.ts';

/** One filter of one domain, for all its mails from that sender. */
interface Allowance {
  domain: string;
  /** In the form that is stored. */
  sender: string;
  mails: MailReference[];
  domainId: number | string;
}

export interface AllowancePlan {
  wanted: Allowance[];
  /** Senders whose filter exists already. */
  present: (Allowance & {filter: Pick<MailFilter, 'id'>})[];
  /** Mails whose sender cannot, or should not, be allowed. */
  exceptions: {mail: MailReference; why: string}[];
}

type AllowanceOutcome = {allowance: Allowance} & ({filter: MailFilter} | {error: CliError});

type KnownMail = MailReference & Partial<Pick<HeldMail, 'sender' | 'recipients'>>;

const parallelReads = 8;

/** To be called while the mails are held: the sender of a released mail is no longer known. */
const planAllowances = async (client: Client, mails: readonly KnownMail[]): Promise<AllowancePlan> => {
  const plan: AllowancePlan = {wanted: [], present: [], exceptions: []};
  const except = (group: readonly MailReference[], why: string) => plan.exceptions.push(...group.map(mail => ({mail, why})));

  const seen = await inParallel(alike(mails), parallelReads, async group => ({group, detail: await detailOf(client, group)}));
  const bySender = new Map<string, Omit<Allowance, 'domainId'>>();
  for (const {group, detail} of seen) {
    if (typeof detail === 'string') {
      except(group, detail);
      continue;
    }
    const sender = canonicalPattern('sender', detail.sender);
    const key = `${detail.domain} ${sender}`;
    const known = bySender.get(key) ?? {domain: detail.domain, sender, mails: []};
    bySender.set(key, {...known, mails: [...known.mails, ...group]});
  }

  const domains = [...new Set([...bySender.values()].map(({domain}) => domain))];
  const filters = new Map(
    await inParallel(domains, parallelReads, async domain => [domain, await filtersOf(client, domain)] as const),
  );
  for (const allowance of bySender.values()) {
    const {domain, sender, mails: group} = allowance;
    const of = filters.get(domain);
    if (!of) {
      except(group, `there is no domain ${domain} any more`);
      continue;
    }
    const {block, allow} = filtersNaming(of.filters, sender);
    if (block) except(group, `${blockText(block, domain, sender)}: ${removingCommand(block, domain)}`);
    else if (allow) plan.present.push({...allowance, domainId: of.domainId, filter: allow});
    else plan.wanted.push({...allowance, domainId: of.domainId});
  }
  return plan;
};

/** Adds one filter after the other. Never rejects because of the node; stops after a failure that would hit all others too. */
const addAllowances = async (client: Client, allowances: readonly Allowance[]): Promise<AllowanceOutcome[]> => {
  const outcomes: AllowanceOutcome[] = [];
  let end: CliError | undefined;
  for (const allowance of allowances) {
    try {
      if (end) throw end;
      outcomes.push({allowance, filter: await addFilter(client, allowance)});
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      outcomes.push({allowance, error});
      if (error.exitCode === exitCodes.unreachable || error.exitCode === exitCodes.notAuthorised) end = error;
    }
  }
  return outcomes;
};

const addFilter = async (client: Client, {domainId, sender, mails: [mail]}: Allowance): Promise<MailFilter> => {
  const comment = mail ? `released: ${mailId(mail)}` : null;
  const filter = {action: 'allow', match: 'sender', pattern: sender, comment} as const;
  return (await client.domains.addFilter(domainId, filter)).data;
};

/** The list shows which mails share a domain and a sender: only one of them is read in full. */
const alike = (mails: readonly KnownMail[]): KnownMail[][] => {
  const groups = new Map<string, KnownMail[]>();
  for (const mail of mails) {
    const domain = mail.recipients?.[0]?.replace(/^.*@/s, '');
    const key = mail.sender === undefined || domain === undefined ? mailId(mail) : `${domain} ${mail.sender}`;
    const group = groups.get(key);
    if (group) group.push(mail);
    else groups.set(key, [mail]);
  }
  return [...groups.values()];
};

type Detail = Pick<HeldMailDetail, 'sender' | 'domain'>;

/** Returns the reason when there is no sender to allow. */
const detailOf = async (client: Client, group: readonly KnownMail[]): Promise<Detail | string> => {
  if (group[0]?.sender === '') return bounceFault('allow');
  for (const mail of group) {
    try {
      const {data} = await client.quarantine.get(mail);
      return whyNot(data) ?? data;
    } catch (error) {
      if (!(error instanceof CliError) || error.code !== 'not_found') throw error;
    }
  }
  return 'it is not held, and its sender not known any more';
};

const whyNot = (mail: HeldMailDetail): string | undefined => {
  const {sender, domain} = mail;
  const fault = senderFault(mail, 'allow');
  if (fault !== undefined || !isUnverified(mail)) return fault;
  return `neither SPF nor DKIM verifies that it comes from ${sender}, and anybody could write such mail; to allow it anyway: mfctl domain filters add ${quoted(domain)} --allow --sender ${quoted(sender)} --no-authenticated`;
};

const maxLines = 10;

/** Rejects when the key may not add filters, and prints the mails whose sender will not be allowed. Without `isWanted` it plans nothing. */
export const planAllowing = async (
  session: Session,
  mails: readonly MailReference[],
  isWanted: boolean | undefined,
): Promise<AllowancePlan> => {
  if (!isWanted || mails.length === 0) return {wanted: [], present: [], exceptions: []};
  const client = await session.client();
  requireFilterRight((await client.me()).data, {isForAll: false, undone: 'nothing was released', without: '--allow-sender'});
  const plan = await planAllowances(client, mails);
  const {warn} = session.printer();
  lines(plan.exceptions, warn, ({mail, why}) => `no sender is allowed for ${mailId(mail)}: ${why}`);
  return plan;
};

/** Shows the plan before the question, or in a dry run. */
export const sayAllowances = (session: Session, {wanted, present}: AllowancePlan): void => {
  const {note} = session.printer();
  lines(wanted, note, allowance => `to be allowed: ${nameOf(allowance)}`);
  lines(present, note, allowance => `already allowed: ${nameOf(allowance)} (filter ${allowance.filter.id})`);
};

/** Allows the senders of released mails only. Resolves with an error when one of them failed. */
export const allowSenders = async (
  session: Session,
  {wanted, present}: AllowancePlan,
  results: readonly BulkResult[],
): Promise<CliError | undefined> => {
  const released = new Set(results.filter(result => hasOwn(result, 'state')).map(mailId));
  const isDue = ({mails}: Allowance) => mails.some(mail => released.has(mailId(mail)));
  const {note, warn} = session.printer();
  lines(present.filter(isDue), note, allowance => `already allowed: ${nameOf(allowance)} (filter ${allowance.filter.id})`);
  const due = wanted.filter(isDue);
  if (due.length === 0) return undefined;

  const outcomes = await addAllowances(await session.client(), due);
  const added = outcomes.filter(outcome => hasOwn(outcome, 'filter'));
  const failed = outcomes.filter(outcome => hasOwn(outcome, 'error'));
  lines(added, note, ({allowance, filter}) => `allowed: ${nameOf(allowance)} (filter ${filter.id})`);
  lines(failed, warn, ({allowance, error}) => `not allowed: ${nameOf(allowance)}: ${error.detail} (${error.code})`);
  if (failed.length === 0) return undefined;
  return new CliError(
    'partial_failure',
    `mail was released, but ${countText(failed.length)} of ${plural(due.length, 'sender')} could not be allowed`,
    {exitCode: exitCodes.partial, hint: 'mfctl domain filters add DOMAIN --allow --sender ADDRESS'},
  );
};

const nameOf = ({sender, domain}: Allowance): string => `${sender} in ${domain}`;

const lines = <T>(items: readonly T[], say: (text: string) => void, textOf: (item: T) => string): void => {
  for (const item of items.slice(0, maxLines)) say(textOf(item));
  if (items.length > maxLines) say(`and ${countText(items.length - maxLines)} more like this`);
};
