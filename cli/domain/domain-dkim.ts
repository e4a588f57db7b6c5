import type {Command} from 'commander';
import type {CreateDkimKey, DkimKey} from '../../shared/dkim-key.ts';
import type {Domain} from '../../shared/domain.ts';
import {quoted} from '../../shared/shell-word.ts';
import type {Client} from '../client/client.ts';
import {addFieldOptions, givenValues} from '../command-line/field-options.ts';
import {addWholeOption} from '../command-line/option-values.ts';
import {notFound} from '../errors.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {dkimKeys, newDkimFields} from './dkim-fields.ts';
import {findDomain, findDomainId} from './find-domain.ts';

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
    .prints(dkim.command('show'), dkimKeys)
    .description('show a DKIM key and the DNS record to publish')
    .argument('<domain>', 'name or id')
    .argument('<selector>', 'as dkim list shows it')
    .action(async (nameOrId: string, selector: string) => {
      const client = await session.client();
      const key = await findDkimKey(client, {id: await findDomainId(client, nameOrId), named: nameOrId, selector});
      session.printer().record(key, dkimKeys);
    });

  const create = session.prints(dkim.command('create'), dkimKeys);
  addFieldOptions(create, Object.values(newDkimFields))
    .description('create a DKIM key and show the DNS record to publish')
    .argument('<domain>', 'name or id')
    .addHelpText('after', '\nExample:\n  mfctl domain dkim create example.com --selector mfd2026')
    .action(async (nameOrId: string, flags: CreateDkimKey) => {
      const client = await session.client();
      const {data} = await client.domains.createDkimKey(await findDomainId(client, nameOrId), givenValues(newDkimFields, flags));
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
      await findDkimKey(client, {id: data.id, named: nameOrId, selector});
      await session.confirm(`Delete the DKIM key ${selector} of ${data.name}? No other key will ever match its DNS record.`, yes);
      await client.domains.removeDkimKey(data.id, selector);
      session.printer().done(`deleted DKIM key ${selector}`);
      await warnOfUnsigned(session, client, data);
    });
};

interface DkimWish {
  /** Of the domain. */
  id: number | string;
  /** The domain as it was typed. */
  named: string;
  selector: string;
}

const findDkimKey = async (client: Client, {id, named, selector}: DkimWish): Promise<DkimKey> => {
  const {data} = await client.domains.dkimKeys(id);
  const key = data.find(one => one.selector === selector);
  if (!key) throw notFound(`${named} has no DKIM key ${selector}`, `mfctl domain dkim list ${quoted(named)}`);
  return key;
};

/** Warns of a domain with DKIM on and without a key: its mail is sent unsigned. */
export const warnOfUnsigned = async (session: Session, client: Client, domain: Domain): Promise<void> => {
  if (!domain.dkim_active) return;
  const {data} = await client.domains.dkimKeys(domain.id);
  if (data.length > 0) return;
  const hint = `make one: mfctl domain dkim create ${domain.name} --selector NAME`;
  session.printer().warn(`${domain.name} has no DKIM key, so its mail leaves unsigned; ${hint}`);
};
