import {type Command, Option} from 'commander';
import type {CreateDkimKey, DkimKey} from '../../shared/dkim-key.ts';
import type {Domain} from '../../shared/domain.ts';
import {dkimAlgorithms} from '../../shared/field-rules.ts';
import type {Client} from '../client/client.ts';
import {addWholeOption} from '../command-line/option-values.ts';
import {dateText, timeText, zoneLine} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Listed, Shown} from '../output/table.ts';
import type {Session} from '../session.ts';
import {findDomain, findDomainId} from './find-domain.ts';

const columns: Column<DkimKey>[] = [
  {title: 'SELECTOR', cell: key => key.selector},
  {title: 'ALGORITHM', cell: key => key.algorithm},
  {title: 'DNS NAME', cell: key => key.dns_name},
  {title: 'CREATED', cell: key => timeText(key.created_at), brief: key => dateText(key.created_at), dropRank: 1},
  {title: 'ID', cell: key => key.id, align: 'right', isWideOnly: true},
  {title: 'DNS RECORD', cell: key => key.dns_record, isWideOnly: true},
];

const dkimKeys: Listed<DkimKey> & Shown<DkimKey> = {
  fields: ['id', 'domain_id', 'selector', 'algorithm', 'dns_name', 'dns_record', 'created_at'],
  nameOf: ({selector}) => selector,
  columns,
  details: key => [
    ['Selector', key.selector],
    ['Algorithm', key.algorithm],
    ['Created', timeText(key.created_at)],
    ['DNS record', zoneLine(key)],
  ],
  isShort: true,
  none: 'no DKIM keys',
};

export const addDkimCommands = (domain: Command, session: Session): void => {
  const dkim = domain.command('dkim').description('manage the DKIM keys of a domain');

  addWholeOption(addSortOption(session.prints(dkim.command('list'), dkimKeys)))
    .description('list the DKIM keys of a domain; -o wide has their DNS records')
    .argument('<domain>', 'name or id')
    .action(async (nameOrId: string, flags: SortFlag) => {
      const sorter = createSorter(dkimKeys, flags);
      const client = await session.client();
      const {data} = await client.domains.dkimKeys(await findDomainId(client, nameOrId));
      session.printer().list(sorter(data), dkimKeys);
    });

  session
    .prints(dkim.command('create'), dkimKeys)
    .description('create a DKIM key and show the DNS record to publish')
    .argument('<domain>', 'name or id')
    .requiredOption('--selector <selector>', 'name of the key in DNS, such as mfd2026')
    .addOption(new Option('--algorithm <algorithm>', 'kind of key (default: rsa-2048)').choices(dkimAlgorithms))
    .addHelpText('after', '\nExample:\n  mfctl domain dkim create example.com --selector mfd2026')
    .action(async (nameOrId: string, flags: CreateDkimKey) => {
      const client = await session.client();
      const {data} = await client.domains.createDkimKey(await findDomainId(client, nameOrId), flags);
      session.printer().record(data, dkimKeys);
      session.printer().note(`Publish the record first, then sign: mfctl domain update ${nameOrId} --dkim`);
    });

  dkim
    .command('delete')
    .description('remove a DKIM key; mail signed with it that is still in transit will not verify once its record is gone')
    .argument('<domain>', 'name or id')
    .argument('<selector>', 'as dkim list shows it')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  mfctl domain dkim delete example.com mfd2026')
    .action(async (nameOrId: string, selector: string, {yes}: {yes?: boolean}) => {
      const client = await session.client();
      const {data} = await findDomain(client, nameOrId);
      await session.confirm(`Delete the DKIM key ${selector} of ${data.name}? No other key will ever match its DNS record.`, yes);
      await client.domains.removeDkimKey(data.id, selector);
      session.printer().done(`deleted DKIM key ${selector}`);
      await warnOfUnsigned(session, client, data);
    });
};

/** Warns of a domain with DKIM on and without a key: its mail is sent unsigned. */
export const warnOfUnsigned = async (session: Session, client: Client, domain: Domain): Promise<void> => {
  if (!domain.dkim_active) return;
  const {data} = await client.domains.dkimKeys(domain.id);
  if (data.length > 0) return;
  const hint = `make one: mfctl domain dkim create ${domain.name} --selector NAME`;
  session.printer().warn(`${domain.name} has no DKIM key, so its mail leaves unsigned; ${hint}`);
};
