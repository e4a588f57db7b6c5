import {type Command, Option} from 'commander';
import {nearestWord} from '../../shared/nearest-word.ts';
import type {Client} from '../client/client.ts';
import {pastMoment} from '../command-line/moment.ts';
import {addPageOptions, type PageFlags, wholeNumber} from '../command-line/option-values.ts';
import {CliError} from '../errors.ts';
import {findKey} from '../key/find-key.ts';
import {notePage, pagesOfNewest, printAll, warnOfPartialList} from '../output/print-all.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {auditEntries} from './audit-fields.ts';

interface AuditFlags extends PageFlags, SortFlag {
  since?: string;
  key?: string;
  keyId?: number;
  action?: string;
  target?: string;
}

export const addAuditCommand = (program: Command, session: Session): void => {
  const audit = session.prints(program.command('audit'), auditEntries).description('list who did what, newest first');
  audit
    .option('--since <time>', "at or after this time: 12:30, yesterday, '2026-03-01 12:30', or 2h and 3d before now", pastMoment)
    .addOption(new Option('--key <key>', 'done with this key: name or id').conflicts('keyId'))
    .option('--key-id <id>', 'the same, by id alone; 0: done by recipients, by the links of digests', wholeNumber)
    .option('--action <action>', 'only this action, such as quarantine.release')
    .option('--target <target>', 'done to this: a held mail as NODE/QUEUE, a domain, the id of a key');
  addSortOption(addPageOptions(audit))
    .addHelpText('after', help)
    .action((flags: AuditFlags) => listAudit(session, flags));
};

const help = `
NODE is the node that did it. When another one was asked, FROM names that too: 192.0.2.9 via mx2.

Examples:
  mfctl audit --since 1d --action quarantine.release
  mfctl audit --target NODE/QUEUE`;

const listAudit = async (session: Session, {key, keyId, all, sort, ...flags}: AuditFlags): Promise<void> => {
  const sorter = createSorter(auditEntries, {sort});
  const client = await session.client();
  const query = {...flags, key_id: key === undefined ? keyId : await idOfKey(client, key)};
  if (all) {
    const pages = pagesOfNewest({ask: async page => client.audit.list({...query, ...page}), nameOf: auditEntries.nameOf});
    return warnOfPartialList(
      session,
      await printAll(session, auditEntries, {pages, sorter: sort === undefined ? undefined : sorter}),
    );
  }
  const answer = await client.audit.list(query);
  session.printer().list(sorter(answer.data), auditEntries);
  if (answer.data.length === 0 && query.action !== undefined) await warnOfUnknownAction(session, client, query.action);
  notePage(session, answer, {offset: flags.offset, sort, noun: 'audit entries'});
  warnOfPartialList(session, answer);
};

/** The log itself knows the actions: nodes of other versions have others. */
const warnOfUnknownAction = async (session: Session, client: Client, action: string): Promise<void> => {
  const {data} = await client.audit.list({limit: 1000});
  const known = [...new Set(data.map(entry => entry.action))].sort();
  if (known.length === 0 || known.includes(action)) return;
  const meant = nearestWord(action, known);
  session
    .printer()
    .warn(
      meant === undefined
        ? `the log has no action ${action}; it has ${known.join(', ')}`
        : `the log has no action ${action}; did you mean ${meant}?`,
    );
};

/** A deleted key has no record and no name, but its entries remain. */
const idOfKey = async (client: Client, named: string): Promise<number | string> => {
  try {
    return (await findKey(client, {named})).id;
  } catch (error) {
    if (/^\d{1,15}$/.test(named) && error instanceof CliError && error.code === 'not_found') return named;
    throw error;
  }
};
