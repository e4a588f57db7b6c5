// Commands of domains, and the flags of their settings.
import {type Command, Option} from 'commander';
import type {Domain} from '../../shared/domain.ts';
import {directions} from '../../shared/field-rules.ts';
import type {Client} from '../client/client.ts';
import {addWholeOption, collected, decimal} from '../command-line/option-values.ts';
import {usageError} from '../errors.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {addApplyCommand} from './domain-apply.ts';
import {domains} from './domain-columns.ts';
import {addDkimCommands, warnOfUnsigned} from './domain-dkim.ts';
import {addDnsCommand} from './domain-dns.ts';
import {addExportCommand} from './domain-export.ts';
import {addFilterCommands} from './domain-filters.ts';
import {findDomain} from './find-domain.ts';
import {unsentReports} from './unsent-reports.ts';

export const addDomainCommands = (program: Command, session: Session): void => {
  const domain = program.command('domain').description('manage the protected domains');

  addReadCommands(domain, session);
  addChangeCommands(domain, session);
  addExportCommand(domain, session);
  addApplyCommand(domain, session);
  addFilterCommands(domain, session);
  addDkimCommands(domain, session);
  addDnsCommand(domain, session);
};

const addReadCommands = (domain: Command, session: Session): void => {
  addWholeOption(addSortOption(session.prints(domain.command('list'), domains)))
    .description('list the domains')
    .action(async (flags: SortFlag) => {
      const sorter = createSorter(domains, flags);
      const client = await session.client();
      const {data} = await client.domains.list();
      session.printer().list(sorter(data), domains);
    });

  session
    .prints(domain.command('get'), domains)
    .description('show one domain')
    .argument('<domain>', 'name or id')
    .action(async (nameOrId: string) => {
      const {data} = await findDomain(await session.client(), nameOrId);
      session.printer().record(data, domains);
    });
};

const addChangeCommands = (domain: Command, session: Session): void => {
  const create = session.prints(domain.command('create'), domains);
  create.description('protect a domain').argument('<name>', 'such as example.com');
  addSettingOptions(create)
    .option('--inactive', 'take no mail for it yet')
    .addHelpText('after', createHelp)
    .action(async (name: string, flags: SettingFlags) => {
      const client = await session.client();
      const {data} = await client.domains.create({name, ...settingsOf(flags)});
      session.printer().record(data, domains);
      await warnOfUnfinished(session, client, {flags, domain: data});
    });

  const update = session.prints(domain.command('update'), domains);
  update.description('change settings of a domain').argument('<domain>', 'name or id');
  addSettingOptions(update)
    .option('--no-tenant-id', 'belongs to no tenant')
    .option('--active', 'take mail for it')
    .option('--inactive', 'take no mail for it')
    .addHelpText('after', updateHelp)
    .action((nameOrId: string, flags: SettingFlags) => updateDomain(session, nameOrId, flags));

  domain
    .command('delete')
    .description('remove a domain with its DKIM keys and mail filters; its held mail stays until it expires')
    .argument('<domain>', 'name or id')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  mfctl domain delete example.com')
    .action(async (nameOrId: string, {yes}: {yes?: boolean}) => {
      const client = await session.client();
      const {data} = await findDomain(client, nameOrId);
      await session.confirm(`Delete ${data.name} with its DKIM keys and mail filters?`, yes);
      await client.domains.remove(data.id);
      session.printer().done(`deleted ${data.name}`);
    });
};

const createHelp = `
Unless you say otherwise, inbound mail is held from a score of 6 on and refused from 15 on.

Examples:
  mfctl domain create example.com --backend mail.example.com:25
  mfctl domain create example.com --backend '[2001:db8::25]:25' --backend backup.example.com:25 --quarantine-threshold 5`;

const updateHelp = `
Settings without an option stay as they are. The given backends replace all earlier ones.

Examples:
  mfctl domain update example.com --reject-threshold 12 --dkim
  mfctl domain update example.com --inactive`;

/** Sends the given settings with the ETag of the domain, so that a concurrent change is not lost. */
const updateDomain = async (session: Session, nameOrId: string, flags: SettingFlags): Promise<void> => {
  const patch = settingsOf(flags);
  if (Object.keys(patch).length === 0) throw usageError('there is nothing to change', 'mfctl domain update --help');

  const client = await session.client();
  const found = await findDomain(client, nameOrId);
  const {data} = await client.domains.update(found.data.id, patch, found.etag);
  session.printer().record(data, domains);
  await warnOfUnfinished(session, client, {flags, domain: data});
};

/** Warns where a setting that was made has no effect yet. */
const warnOfUnfinished = async (
  session: Session,
  client: Client,
  {flags, domain}: {flags: SettingFlags; domain: Domain},
): Promise<void> => {
  if (flags.dkim) await warnOfUnsigned(session, client, domain);
  if (!flags.dmarcReporting) return;
  const problem = await unsentReports(client);
  if (problem !== undefined) session.printer().warn(problem);
};

/** As commander parses them; options that were not given are undefined. */
interface SettingFlags {
  backend?: string[];
  direction?: Domain['direction'];
  quarantineThreshold?: number;
  rejectThreshold?: number;
  dkim?: boolean;
  dmarcReporting?: boolean;
  /** False for `--no-tenant-id`. */
  tenantId?: string | false;
  active?: boolean;
  inactive?: boolean;
}

const addSettingOptions = (command: Command): Command =>
  command
    .option(
      '--backend <host:port>',
      'server that takes its mail, IPv6 in brackets; repeat it for more, tried in order',
      collected,
    )
    .addOption(new Option('--direction <direction>', 'which mail is filtered').choices(directions))
    .option('--quarantine-threshold <score>', 'hold mail from this score on', decimal)
    .option('--reject-threshold <score>', 'refuse mail from this score on', decimal)
    .option('--dkim', 'sign outbound mail')
    .option('--no-dkim', 'do not sign outbound mail')
    .option('--dmarc-reporting', 'send DMARC reports')
    .option('--no-dmarc-reporting', 'send no DMARC reports')
    .option('--tenant-id <id>', 'tenant it belongs to');

/** The members of a domain that were given. */
const settingsOf = (flags: SettingFlags): Record<string, unknown> => {
  const settings = {
    backend_servers: flags.backend,
    direction: flags.direction,
    quarantine_threshold: flags.quarantineThreshold,
    reject_threshold: flags.rejectThreshold,
    dkim_active: flags.dkim,
    dmarc_reporting: flags.dmarcReporting,
    tenant_id: tenantId(flags.tenantId),
    active: flags.inactive ? false : flags.active,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
};

/** The API distinguishes numbers and names of tenants. */
const tenantId = (flag: SettingFlags['tenantId']): number | string | null | undefined => {
  if (flag === false) return null;
  return flag !== undefined && /^\d{1,15}$/.test(flag) ? Number(flag) : flag;
};
