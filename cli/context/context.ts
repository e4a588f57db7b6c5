import type {Command} from 'commander';
import {checkedCaFile, readKey, typedUrl, unknownContext} from '../client/connection.ts';
import {checkedMetricsUrl} from '../client/metrics.ts';
import {addWholeOption} from '../command-line/option-values.ts';
import {usageError} from '../errors.ts';
import {type Context, isContextName} from '../files/context-store.ts';
import type {Column} from '../output/column.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Listed} from '../output/table.ts';
import type {Session} from '../session.ts';

interface AddFlags {
  metricsUrl?: string;
  use?: boolean;
  keep?: boolean;
}

/** The context as it is printed, without its key. */
interface ContextRecord {
  name: string;
  current: boolean;
  url: string;
  urls: readonly string[];
  cacert: string | null;
  fingerprint: string | null;
  metrics_url: string | null;
}

const columns: Column<ContextRecord>[] = [
  {title: 'CURRENT', cell: ({current}) => (current ? '*' : ' ')},
  {title: 'NAME', cell: ({name}) => name},
  {title: 'URL', cell: ({url}) => url, wide: ({urls}) => urls.join(', ')},
  {title: 'CACERT', cell: ({cacert}) => cacert, isFlexible: true},
  {title: 'FINGERPRINT', cell: ({fingerprint}) => fingerprint, isWideOnly: true},
  {title: 'METRICS URL', cell: ({metrics_url}) => metrics_url, isWideOnly: true},
];

const contextRecords: Listed<ContextRecord> = {
  fields: ['name', 'current', 'url', 'urls', 'cacert', 'fingerprint', 'metrics_url'],
  nameOf: ({name}) => name,
  columns,
  isShort: true,
  none: 'no contexts; add one: mfctl context add --help',
};

export const addContextCommands = (program: Command, session: Session): void => {
  const context = program.command('context').description('manage the nodes and keys that mfctl knows');

  addWholeOption(addSortOption(session.prints(context.command('list'), contextRecords)))
    .description('list the contexts; * marks the current one')
    .action(async (flags: SortFlag) => {
      const sorter = createSorter(contextRecords, flags);
      const {current, contexts} = await session.contexts.read();
      session.printer().list(sorter(contexts.map(known => recordOf(known, current))), contextRecords);
    });

  context
    .command('use')
    .description('switch to another context')
    .argument('<name>', 'as context list shows it')
    .addHelpText('after', '\nExample:\n  mfctl context use mx1')
    .action(async (name: string) => {
      const {contexts} = await session.contexts.read();
      if (!contexts.some(known => known.name === name)) throw unknownContext(name);
      await session.contexts.use(name);
      session.printer().note(`now using ${name}`);
    });

  context
    .command('add')
    .description('add a context, or replace the one of that name')
    .argument('<name>', 'name of the new context')
    .usage('<name> --url <url>... [--cacert <file>] [--api-key-file <file>] [options]')
    .option('--metrics-url <url>', 'address of the metrics listener, such as http://127.0.0.1:9090')
    .option('--use', 'make it the current context')
    .option('--keep', 'keep a context that has the name already: the new one is called NAME-2 then')
    .addHelpText('after', addHelp)
    .action((name: string, flags: AddFlags) => add(session, name, flags));

  context
    .command('remove')
    .description('remove a context, its key and its certificate')
    .argument('<name>', 'as context list shows it')
    .action(async (name: string) => {
      if (!(await session.contexts.remove(name))) throw unknownContext(name);
      session.printer().note(`removed ${name}`);
    });
};

const addHelp = `
The key is read from a file, or from standard input with --api-key-file -, and kept in keys.yaml (mode 0600)
beside config.yaml in $XDG_CONFIG_HOME/mfctl. The first context becomes the current one.

Repeat --url for other nodes of the same cluster: when one does not answer, the next one is asked. mfctl login finds them
itself, and a command that reads the status of the cluster, such as mfctl cluster status, adds those that are missing, if the
certificate of the context is that of the cluster's own CA.

Examples:
  mfctl context add mx1 --url https://mx1.example.com:8443 --cacert ca.pem --api-key-file admin.key --use
  pass show mx1 | mfctl context add mx1 --url https://mx1.example.com:8443 --api-key-file -`;

const add = async (session: Session, name: string, {metricsUrl, use, keep = false}: AddFlags): Promise<void> => {
  const {urls = [], cacert, apiKeyFile} = session.flags();
  if (!isContextName(name)) throw usageError(`${JSON.stringify(name)} cannot name a context: use letters, digits, dots, hyphens`);
  const [url, ...others] = new Set(urls.map(one => typedUrl(one, '--url')));
  if (url === undefined) throw usageError('a context needs --url', 'mfctl context add --help');

  const context: Context = {
    name,
    url,
    others,
    ...(cacert !== undefined && {cacert: await checkedCaFile({value: cacert, source: '--cacert'})}),
    ...(metricsUrl !== undefined && {metricsUrl: checkedMetricsUrl(metricsUrl).origin}),
  };
  const key = apiKeyFile === undefined ? undefined : await readKey(apiKeyFile, session.terminal);
  const old = (await session.contexts.read()).contexts.find(known => known.name === name);
  const stored = await session.contexts.put(context, {key, makeCurrent: use ?? false, isNew: keep});

  const printer = session.printer();
  printer.note(addedText(context, {old, stored}));
  if (key === undefined) return;
  // Loaded here, so that other commands do not wait for the checksum's library.
  const {isApiKeyValue} = await import('../../shared/api-key-value.ts');
  if (!isApiKeyValue(key)) printer.warn('this does not look like an API key: its checksum is wrong');
};

const addedText = ({name, url}: Context, {old, stored}: {old: Context | undefined; stored: string}): string => {
  if (stored !== name) return `added ${stored}, as there is a context ${name} already`;
  return old && old.url !== url ? `replaced ${name}, which was ${old.url}` : `${old ? 'updated' : 'added'} ${name}`;
};

const recordOf = (
  {name, url, others = [], cacert, fingerprint, metricsUrl}: Context,
  current: string | undefined,
): ContextRecord => ({
  name,
  current: name === current,
  url,
  urls: [url, ...others],
  cacert: cacert ?? null,
  fingerprint: fingerprint ?? null,
  metrics_url: metricsUrl ?? null,
});
