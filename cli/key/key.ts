// Commands of API keys, and `whoami`.
import {type Command, Option} from 'commander';
import type {CreatedApiKey} from '../../shared/api-key.ts';
import {addFieldOptions, givenValues} from '../command-line/field-options.ts';
import {exactMoment, momentAfter} from '../command-line/moment.ts';
import {addWholeOption} from '../command-line/option-values.ts';
import {openKeyFile} from '../files/text-file.ts';
import {timeText} from '../output/cell-text.ts';
import {warnOfSilentNodes} from '../output/print-all.ts';
import {flushed} from '../output/printer.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {withDeletedMarked} from './deleted-domains.ts';
import {confirmKey, findKey, isInUse} from './find-key.ts';
import {apiKeys, createdKey, filedKey, type NewKeyFlags, newKeyFields, ownKey, requireShown, showKey} from './key-fields.ts';
import {addRotateCommand} from './key-rotate.ts';

interface CreateFlags extends NewKeyFlags {
  keyFile?: string;
}

interface EndFlags {
  at?: string;
  in?: string;
  force?: boolean;
  yes?: boolean;
}

export const addKeyCommands = (program: Command, session: Session): void => {
  const key = program.command('key').description('manage API keys');

  addWholeOption(addSortOption(session.prints(key.command('list'), apiKeys)))
    .description('list the API keys; a key itself is never shown again')
    .action(async (flags: SortFlag) => {
      const sorter = createSorter(apiKeys, flags);
      const client = await session.client();
      const {data} = await client.keys.list();
      session.printer().list(sorter(await withDeletedMarked(session, client, data)), apiKeys);
    });

  session
    .prints(key.command('show'), apiKeys)
    .description('show one key, but not the key itself')
    .argument('<key>', 'name or id')
    .action(async (named: string) => {
      const client = await session.client();
      const found = await findKey(client, {named, isActiveMeant: true});
      for (const shown of await withDeletedMarked(session, client, [found])) session.printer().record(shown, apiKeys);
    });

  const {domains, ...others} = newKeyFields;
  addFieldOptions(session.prints(key.command('create'), createdKey), [...Object.values(others), domains])
    .description('create an API key and show it once')
    .option('--key-file <file>', 'write the key to this new file (mode 0600) and do not show it')
    .addHelpText('after', createHelp)
    .action((flags: CreateFlags) => create(session, flags));

  session
    .prints(key.command('revoke'), apiKeys)
    .argument('<key>', 'name or id')
    .description('revoke a key on every node, at once or at a later time; its record stays for the audit log')
    .addOption(
      new Option('--at <time>', 'when to revoke the key, such as 2027-01-31T00:00:00Z').argParser(exactMoment).conflicts('in'),
    )
    .option('--in <duration>', 'how long the key stays valid, such as 12h', momentAfter)
    .option('--force', 'even the last full-admin key')
    .option('--yes', 'do not ask')
    .addHelpText('after', revokeHelp)
    .action((named: string, flags: EndFlags) => revoke(session, named, flags));

  addRotateCommand(key, session);

  key
    .command('delete')
    .argument('<key>', 'name or id')
    .description('remove a key and its name in the audit log; revoke keeps both')
    .option('--force', 'even the last full-admin key')
    .option('--yes', 'do not ask')
    .action(async (named: string, {force, yes}: EndFlags) => {
      const question = (key: string) => `Delete ${key}? The audit log will no longer say whose it was.`;
      const {id, name} = await confirmKey(session, {named, question, isAgreed: yes});
      const client = await session.client();
      const answer = await client.keys.remove(id, {force});
      session.printer().done(`deleted key ${id} (${name})`);
      warnOfSilentNodes(session, answer);
    });
};

const revoke = async (session: Session, named: string, {force, yes, ...flags}: EndFlags): Promise<void> => {
  const at = flags.at ?? flags.in;
  const from = at === undefined ? 'now on' : timeText(at);
  const question = (key: string) => `Revoke ${key}? It is refused from ${from}.`;
  const {id} = await confirmKey(session, {named, isActiveMeant: true, question, isAgreed: yes});
  const client = await session.client();
  const answer = await client.keys.revoke(id, {at, force});
  session.printer().record(answer.data, apiKeys);
  if (answer.data.revoked_at !== null && (await isInUse(session, answer.data)))
    session.printer().warn('this was the key in use: mfctl login URL stores another one');
  warnOfSilentNodes(session, answer);
};

const revokeHelp = `
Examples:
  mfctl key revoke monitoring
  mfctl key revoke 1000000002 --in 12h`;

const createHelp = `
Scopes:
  read-only        sees mail, domains, keys, the audit log and the cluster, and changes nothing
  quarantine-only  sees, releases and discards held mail
  domain-admin     the same for the mail of its domains, and changes these domains
  full-admin       everything

Examples:
  mfctl key create --name monitoring --scope read-only --key-file monitoring.key
  mfctl key create --name 'Example Ltd.' --scope domain-admin --domain example.com --domain example.net --expires-in 90d`;

const create = async (session: Session, flags: CreateFlags): Promise<void> => {
  if (flags.keyFile !== undefined) return createInFile(session, flags, flags.keyFile);

  const printer = session.printer();
  requireShown(printer, 'the key');
  const data = await send(session, flags);
  showKey(printer, data, createdKey);
  await flushed(session.terminal, `key ${data.id}, which is lost; remove it: mfctl key delete ${data.id}`);
  printer.note('Keep the key now: it is not shown again.');
};

const send = async (session: Session, flags: CreateFlags): Promise<CreatedApiKey> => {
  const client = await session.client();
  const {data} = await client.keys.create(givenValues(newKeyFields, flags));
  return data;
};

const createInFile = async (session: Session, flags: CreateFlags, file: string): Promise<void> => {
  const kept = await openKeyFile(file);
  const created = await send(session, flags).catch(async error => {
    await kept.abandon();
    throw error;
  });
  await kept.write(created);

  const {key: _, ...record} = created;
  session.printer().record(record, filedKey);
  session.printer().note(`the key is in ${file}`);
};

export const addWhoamiCommand = (program: Command, session: Session): void => {
  session
    .prints(program.command('whoami'), ownKey)
    .description('show the key in use, what it may do, and which node answers')
    .action(async () => {
      const client = await session.client();
      const {data} = await client.me();
      for (const me of await withDeletedMarked(session, client, [data])) session.printer().record(me, ownKey);
    });
};
