import type {Command} from 'commander';
import type {Client} from '../client/client.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import {countText, plural} from '../output/cell-text.ts';
import type {Listed} from '../output/table.ts';
import {isColour, type Session} from '../session.ts';
import {changeRecord, renderDomainDiff} from './domain-diff.ts';
import {warnOfUnsigned} from './domain-dkim.ts';
import type {Settings} from './domain-fields.ts';
import {readDomainFile} from './domain-file.ts';
import {applyDomainChanges, type ChangeOutcome, type DomainChange, planDomainChanges} from './domain-plan.ts';
import {unsentReports} from './unsent-reports.ts';

interface ApplyFlags {
  file: string;
  prune?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

export const addApplyCommand = (domain: Command, session: Session): void => {
  session
    .prints(domain.command('apply'), changeRecords)
    .description('change the domains to match a file: shows the changes, asks, applies them')
    .requiredOption('-f, --file <file>', 'YAML or JSON as domain export prints it, - for standard input')
    .option('--prune', 'delete the domains that the file does not name')
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', help)
    .action((flags: ApplyFlags) => apply(session, flags));
};

type ChangeRecord = ReturnType<typeof outcomeRecord>;

/** The result for programs; people get the diff. */
const changeRecords: Listed<ChangeRecord> = {
  fields: ['domain', 'change', 'fields', 'error'],
  nameOf: ({domain}) => domain,
  columns: [],
};

const help = `
A setting that the file leaves out stays as it is; a new domain gets its default. With filters: the domain has exactly those
afterwards. all_domains has the filters for all domains, in the same way. The whole file is checked before anything changes. What somebody else has changed meanwhile is not overwritten.

Examples:
  mfctl domain apply -f domains.yaml --dry-run
  mfctl domain apply -f domains.yaml --prune
  mfctl domain export | ssh admin@mx1.example.org mfctl domain apply -f - --yes`;

const apply = async (session: Session, {file, prune = false, dryRun = false, yes}: ApplyFlags): Promise<void> => {
  const {terminal} = session;
  if (file === '-') requireFreeInput(session, dryRun || (yes ?? false));
  const wanted = await readDomainFile(file, terminal);
  const client = await session.client();
  const planned = await planDomainChanges(client, wanted, prune);
  const changes = planned.filter(({kind}) => kind !== 'unchanged');
  const printer = session.printer();
  const {isForPeople} = printer;

  if (isForPeople) terminal.stdout.write(renderDomainDiff(changes, isColour(terminal.stdout, terminal, session.flags())));
  if (changes.length === 0 || dryRun) {
    if (!isForPeople) printer.list(planned.map(changeRecord), changeRecords);
    return printer.note(changes.length === 0 ? 'no changes' : `nothing was changed; this would ${sentence(changes)}`);
  }
  // When standard output is for a program, the question needs the diff on standard error.
  if (!isForPeople && !yes)
    terminal.stderr.write(renderDomainDiff(changes, isColour(terminal.stderr, terminal, session.flags())));
  await session.confirm(question(changes), yes);

  const {outcomes, end} = await applyDomainChanges(client, changes);
  if (!isForPeople)
    printer.list(
      planned.map(change => outcomeRecord(change, outcomes)),
      changeRecords,
    );
  const failure = failureOf(changes, outcomes, end);
  report(session, changes, {outcomes, final: failure?.outcome});
  if (!end) await warnOfAllUnfinished(session, client, outcomes);
  if (failure) throw failure.error;
};

/** Standard input is the file, so it cannot hold an answer. */
const requireFreeInput = (session: Session, isSilent: boolean): void => {
  if (session.flags().apiKeyFile === '-')
    throw usageError(
      'standard input cannot be both the file and the API key',
      'name the key in another way: --api-key-file FILE, or a context',
    );
  if (!isSilent)
    throw usageError(
      'the file comes on standard input, so nobody can be asked there',
      'repeat with --dry-run to see what would change, or with --yes',
    );
};

const question = (changes: readonly DomainChange[]): string => {
  const text = sentence(changes);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}?`;
};

/** `create 1 and delete 2 domains`, with what goes too. */
const sentence = (changes: readonly DomainChange[]): string => {
  const kinds = [
    ['create', changes.filter(({kind}) => kind === 'created').length],
    ['update', changes.filter(({kind}) => kind === 'updated').length],
    ['delete', changes.filter(({kind}) => kind === 'deleted').length],
  ] as const;
  const parts = [
    ...(changes.some(({kind}) => kind === 'refiltered') ? ['change the filters for all domains'] : []),
    ...kinds.filter(([, count]) => count > 0).map(([verb, count]) => `${verb} ${plural(count, 'domain')}`),
  ];
  const all = parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}` : (parts[0] ?? 'change nothing');
  return kinds[2][1] > 0 ? `${all} with DKIM keys and mail filters` : all;
};

const outcomeRecord = (change: DomainChange, outcomes: readonly ChangeOutcome[]) => {
  const record = changeRecord(change);
  if (change.kind === 'unchanged') return record;
  const outcome = outcomes.find(one => one.change === change);
  if (outcome && !outcome.error) return record;
  const {code, detail, fields} = outcome?.error ?? notTried;
  return {...record, change: 'failed', error: {code, detail, ...(fields.length > 0 && {fields})}};
};

const notTried = new CliError('not_tried', 'another failure ended it before');

/** `final` is the failure that the command ends with; it is not reported here. */
const report = (
  session: Session,
  changes: readonly DomainChange[],
  {outcomes, final}: {outcomes: readonly ChangeOutcome[]; final: ChangeOutcome | undefined},
): void => {
  const printer = session.printer();
  for (const {change, error, isBegun} of outcomes.filter(outcome => outcome !== final))
    if (error) printer.warn(`${change.name}: ${error.detail} (${error.code})${isBegun ? '; a part of it was done' : ''}`);
  const untried = changes.length - outcomes.length;
  if (untried > 0) printer.warn(`${plural(untried, 'change')} ${untried === 1 ? 'was' : 'were'} not tried`);
  const done = (kind: DomainChange['kind']) => outcomes.filter(({change, error}) => change.kind === kind && !error).length;
  printer.note(`${done('created')} created, ${done('updated') + done('refiltered')} updated, ${done('deleted')} deleted`);
};

interface Failure {
  error: CliError;
  /** The outcome that has this error. */
  outcome?: ChangeOutcome | undefined;
}

const failureOf = (
  changes: readonly DomainChange[],
  outcomes: readonly ChangeOutcome[],
  end: CliError | undefined,
): Failure | undefined => {
  const failed = outcomes.filter(({error}) => error !== undefined);
  const [first] = failed;
  if (!first) return undefined;
  const decisive = end ? outcomes.at(-1) : first;
  if (decisive && (end || !outcomes.some(({isBegun}) => isBegun))) return {error: named(decisive), outcome: decisive};
  const error = new CliError(
    'partial_failure',
    `${countText(failed.length)} of ${plural(changes.length, 'change')} could not be made as the file says`,
    {exitCode: exitCodes.partial, hint: 'run the same command again: it goes on with what is left'},
  );
  return {error};
};

const named = ({change, error = notTried}: ChangeOutcome): CliError => error.with({detail: `${change.name}: ${error.detail}`});

const warnOfAllUnfinished = async (session: Session, client: Client, outcomes: readonly ChangeOutcome[]): Promise<void> => {
  const made: Partial<Settings>[] = [];
  for (const {change, id, error} of outcomes) {
    if (error || id === undefined || (change.kind !== 'created' && change.kind !== 'updated')) continue;
    const settings: Partial<Settings> = Object.fromEntries(change.settings.map(({name, to}) => [name, to]));
    made.push(settings);
    if (settings.dkim_active) await warnOfUnsigned(session, client, (await client.domains.get(id)).data);
  }
  const problem = await unsentReports(client, made);
  if (problem !== undefined) session.printer().warn(problem);
};
