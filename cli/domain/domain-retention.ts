// Command `domain retention`: how long mail of a domain is held.
import {type Command, Option} from 'commander';
import {type Reason, reasons} from '../../shared/reason.ts';
import type {AppliedRetention, DomainRetention} from '../../shared/retention.ts';
import type {Client} from '../client/client.ts';
import {collected, decimal} from '../command-line/option-values.ts';
import {asCliError} from '../errors.ts';
import type {Shown} from '../output/table.ts';
import type {Session} from '../session.ts';
import {reasonLabels, valuesByReason} from './by-reason.ts';
import {fewerDays} from './fewer-days.ts';
import {findDomainId} from './find-domain.ts';

type ReasonDays = Partial<Record<Reason, number | null>>;

interface Flags {
  days?: number;
  reason?: readonly string[];
  default?: true;
  yes?: true;
}

const retention: Shown<AppliedRetention> = {
  fields: ['domain', 'days', 'by_reason', 'in_effect', 'of_node', 'node_id'],
  nameOf: ({domain}) => domain,
  details: ({domain, days, by_reason, in_effect, node_id}) => [
    ['Domain', domain],
    ...reasons.map(
      reason => [reasonLabels[reason], `${daysText(in_effect[reason])}${sourceOf({days, by_reason}, reason, node_id)}`] as const,
    ),
  ],
};

const daysText = (days: number): string => `${days} ${days === 1 ? 'day' : 'days'}`;

const sourceOf = ({days, by_reason}: Pick<AppliedRetention, 'days' | 'by_reason'>, reason: Reason, node: string): string =>
  days === null && by_reason[reason] === undefined ? `, by mfd.yaml of ${node}` : '';

export const addRetentionCommand = (domain: Command, session: Session): void => {
  session
    .prints(domain.command('retention'), retention)
    .description('show or change how long mail of a domain is held')
    .argument('<domain>', 'name or id')
    .option('--days <days>', 'days its mail is held, whatever mfd.yaml says', decimal)
    .option(
      '--reason <reason=days>',
      `other days for a reason (${reasons.join(', ')}), or =default; repeat it for more`,
      collected,
    )
    .addOption(new Option('--default', 'hold its mail as mfd.yaml of each node says').conflicts(['days', 'reason']))
    .option('--yes', 'do not ask')
    .addHelpText('after', help)
    .action(async (nameOrId: string, {yes, ...flags}: Flags) => {
      const change = changeOf(flags);
      const client = await session.client();
      const id = await findDomainId(client, nameOrId);
      const {data: now} = await client.domains.retention(id);
      if (!change) return session.printer().record(now, retention);

      const fewer = yes ? undefined : await fewerDays(client, now, changed(now, change));
      if (fewer) await session.confirm(`Hold mail of ${now.domain} for fewer days (${fewer.change})? ${fewer.loss}`, yes);
      const {data} = await (change === 'none' ? client.domains.removeRetention(id) : client.domains.setRetention(id, change));
      session.printer().record(data, retention);
      await warnOfEarlier(session, client);
    });
};

const help = `
What is not given stays as it is. Days count from the arrival of a mail, also for mail that is held already: with fewer days,
older mail is deleted for good within minutes (retention.sweep_interval). So fewer days are asked about. --days counts before
the reasons in mfd.yaml. Outbound mail is held as the domain of its sender says.

Examples:
  mfctl domain retention example.com
  mfctl domain retention example.com --days 14 --reason phishing=60
  mfctl domain retention example.com --reason phishing=default
  mfctl domain retention example.com --default`;

/** Null for a reason that has no days of its own any more. */
const reasonDays = (texts: readonly string[]): ReasonDays =>
  valuesByReason<number | null>(texts, {
    ...{flag: '--reason', command: 'mfctl domain retention'},
    parse: text => (text === 'default' ? null : /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : undefined),
    what: 'its days, such as phishing=60, or =default',
  });

/** What the options ask for; undefined for nothing, `none` for no retention of its own. */
const changeOf = ({days, reason, default: isDefault}: Flags): {days?: number; by_reason?: ReasonDays} | 'none' | undefined => {
  if (isDefault) return 'none';
  if (days === undefined && reason === undefined) return undefined;
  return {...(days !== undefined && {days}), ...(reason && {by_reason: reasonDays(reason)})};
};

const changed = (now: AppliedRetention, change: Exclude<ReturnType<typeof changeOf>, undefined>): DomainRetention | null => {
  if (change === 'none') return null;
  const {days = now.days, by_reason = {}} = change;
  const merged = Object.entries({...now.by_reason, ...by_reason}).filter(([, one]) => one !== null);
  return {days, by_reason: Object.fromEntries(merged)};
};

/** The setting is made, so a status that does not come, or that this key may not read, is no failure. */
const warnOfEarlier = async (session: Session, {cluster}: Client): Promise<void> => {
  const peers = await cluster.status().then(
    ({data}) => data.peers,
    (error: unknown) => void asCliError(error),
  );
  // A node that was never heard has no version yet.
  const earlier = (peers ?? []).filter(({problems, has_authority}) => problems === undefined && has_authority !== null);
  if (earlier.length === 0) return;
  const names = earlier.map(({node_id}) => node_id).join(', ');
  const [run, one, is, its] =
    earlier.length === 1 ? ['runs', 'it takes', 'it is', 'its'] : ['run', 'they take', 'they are', 'their'];
  session
    .printer()
    .warn(`${names} ${run} an earlier version: what ${one} in is held as ${its} mfd.yaml says until ${is} upgraded`);
};
