// `release --allow-sender`: the filters are shown before the question, and added after the release. Standard output has the release only.
import type {BulkResult, MailReference} from '../../shared/held-mail.ts';
import {CliError, exitCodes} from '../errors.ts';
import {countText, plural} from '../output/cell-text.ts';
import type {Session} from '../session.ts';
import {mailId} from './mail-id.ts';
import {type Allowance, type AllowancePlan, addAllowances, planAllowances, requireFilterRight} from './sender-allowance.ts';

const maxLines = 10;

/** Rejects when the key may not add filters, and prints the mails whose sender will not be allowed. Without `isWanted` it plans nothing. */
export const planAllowing = async (
  session: Session,
  mails: readonly MailReference[],
  isWanted: boolean | undefined,
): Promise<AllowancePlan> => {
  if (!isWanted || mails.length === 0) return {wanted: [], present: [], exceptions: []};
  const client = await session.client();
  await requireFilterRight(client);
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
  const released = new Set(results.filter(result => 'state' in result).map(mailId));
  const isDue = ({mails}: Allowance) => mails.some(mail => released.has(mailId(mail)));
  const {note, warn} = session.printer();
  lines(present.filter(isDue), note, allowance => `already allowed: ${nameOf(allowance)} (filter ${allowance.filter.id})`);
  const due = wanted.filter(isDue);
  if (due.length === 0) return undefined;

  const outcomes = await addAllowances(await session.client(), due);
  const added = outcomes.filter(outcome => 'filter' in outcome);
  const failed = outcomes.filter(outcome => 'error' in outcome);
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
