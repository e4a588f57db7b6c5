// Commands of domains.
import type {Command} from 'commander';
import type {Domain} from '../../shared/domain.ts';
import {canonicalDomain, domainNameFault} from '../../shared/domain-name.ts';
import type {Client} from '../client/client.ts';
import {addFieldOptions, givenValues} from '../command-line/field-options.ts';
import {addWholeOption} from '../command-line/option-values.ts';
import {usageError} from '../errors.ts';
import {addDomainFilterCommands} from '../filter/filter.ts';
import {noteALabels} from '../output/a-labels.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {addApplyCommand} from './domain-apply.ts';
import {addDigestCommand} from './domain-digest.ts';
import {addDkimCommands, warnOfUnsigned} from './domain-dkim.ts';
import {addDnsCommand} from './domain-dns.ts';
import {addExportCommand} from './domain-export.ts';
import {domainFields, domains, type FlagValues, type Settings} from './domain-fields.ts';
import {addRetentionCommand} from './domain-retention.ts';
import {addTestCommand, warnOfUnreachable} from './domain-test.ts';
import {heldAfterDeletion} from './fewer-days.ts';
import {findDomain, findDomainId} from './find-domain.ts';
import {unsentReports} from './unsent-reports.ts';

export const addDomainCommands = (program: Command, session: Session): void => {
  const domain = program.command('domain').description('manage the protected domains');

  addReadCommands(domain, session);
  addChangeCommands(domain, session);
  addExportCommand(domain, session);
  addApplyCommand(domain, session);
  addDomainFilterCommands(domain, session, findDomainId);
  addDkimCommands(domain, session);
  addDnsCommand(domain, session);
  addTestCommand(domain, session);
  addRetentionCommand(domain, session);
  addDigestCommand(domain, session);
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
  addFieldOptions(create, Object.values(domainFields), 'create')
    .addHelpText('after', createHelp)
    .action(async (name: string, flags: FlagValues) => {
      requireDomainName(name);
      const client = await session.client();
      const settings: Partial<Settings> = givenValues(domainFields, flags);
      const {data} = await client.domains.create({name, ...settings});
      session.printer().record(data, domains);
      noteALabels(session.printer(), name, data.name);
      await warnOfUnfinished(session, client, {settings, domain: data});
      await warnOfUnreachable(session, client, data);
    });

  const update = session.prints(domain.command('update'), domains);
  update.description('change settings of a domain').argument('<domain>', 'name or id');
  addFieldOptions(update, Object.values(domainFields), 'update')
    .addHelpText('after', updateHelp)
    .action((nameOrId: string, flags: FlagValues) => updateDomain(session, nameOrId, flags));

  domain
    .command('delete')
    .description('remove a domain with its DKIM keys and mail filters; its held mail stays until it expires')
    .argument('<domain>', 'name or id')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  mfctl domain delete example.com')
    .action(async (nameOrId: string, {yes}: {yes?: boolean}) => {
      const client = await session.client();
      const {data} = await findDomain(client, nameOrId);
      const held = yes ? '' : await heldAfterDeletion(client, data);
      await session.confirm(`Delete ${data.name} with its DKIM keys and mail filters? ${held}`, yes);
      await client.domains.remove(data.id);
      session.printer().done(`deleted ${data.name}`);
    });
};

/** The node checks names. One of an earlier version takes those that IDNA makes something else of. */
const requireDomainName = (name: string): void => {
  const fault = domainNameFault(name);
  if (fault !== undefined && canonicalDomain(name) !== undefined)
    throw usageError(`${JSON.stringify(name)} ${fault}`, 'mfctl domain create --help');
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
const updateDomain = async (session: Session, nameOrId: string, flags: FlagValues): Promise<void> => {
  const settings: Partial<Settings> = givenValues(domainFields, flags);
  if (Object.keys(settings).length === 0) throw usageError('there is nothing to change', 'mfctl domain update --help');

  const client = await session.client();
  const found = await findDomain(client, nameOrId);
  const {data} = await client.domains.update(found.data.id, settings, found.etag);
  session.printer().record(data, domains);
  await warnOfUnfinished(session, client, {settings, domain: data});
};

/** Warns where a setting that was made has no effect yet. */
const warnOfUnfinished = async (
  session: Session,
  client: Client,
  {settings, domain}: {settings: Partial<Settings>; domain: Domain},
): Promise<void> => {
  if (settings.dkim_active) await warnOfUnsigned(session, client, domain);
  const problem = await unsentReports(client, [settings]);
  if (problem !== undefined) session.printer().warn(problem);
};
