// Commands `quarantine allow` and `quarantine block`: a filter for the sender of a held mail.
import type {Command} from 'commander';
import type {GlobalFilter} from '../../shared/mail-filter.ts';
import {globalFilters, mailFilters} from '../filter/filter-fields.ts';
import type {Session} from '../session.ts';
import {askOfMail} from './ended-mail.ts';
import {parseMailId} from './held-mail-columns.ts';
import {addSenderFilter, readFilters, requireFilterRight, type SenderAction, senderOutcome, senderRule} from './sender-filter.ts';
import {requireTrainingRight, sampleClassOf, trainScanner} from './training.ts';

interface Flags {
  allDomains?: boolean;
  train?: boolean;
  dryRun?: boolean;
}

export const addSenderCommands = (quarantine: Command, session: Session): void => {
  addSenderCommand(quarantine, session, 'allow').description(
    'let later mail of the sender of a held mail through: add a filter to its domain',
  );
  addSenderCommand(quarantine, session, 'block').description(
    'refuse later mail of the sender of a held mail: add a filter to its domain',
  );
};

const addSenderCommand = (quarantine: Command, session: Session, action: SenderAction): Command =>
  session
    .prints(quarantine.command(action), globalFilters)
    .argument('<id>', 'NODE/QUEUE, as quarantine list shows it')
    .option('--all-domains', 'add the filter for all domains')
    .option('--train', `let the scanner learn this mail as ${sampleClassOf[action]}: takes a full-admin key`)
    .option('--dry-run', 'say what the filter would do, and add none')
    .addHelpText('after', helpOf(action))
    .action((id: string, flags: Flags) => addFilter(session, action, {id, ...flags}));

const helpOf = (action: SenderAction): string => `
The mail itself stays held: quarantine release delivers it, quarantine discard deletes it. --train needs Rspamd and its
controller; the built-in scanner learns nothing.

Examples:
  mfctl quarantine ${action} NODE/QUEUE
  mfctl quarantine ${action} NODE/QUEUE --all-domains
  mfctl quarantine ${action} NODE/QUEUE --train`;

const addFilter = async (
  session: Session,
  action: SenderAction,
  {id, allDomains: isForAll = false, train, dryRun}: Flags & {id: string},
): Promise<void> => {
  const printer = session.printer();
  const reference = parseMailId(id);
  const client = await session.client();
  const {data: me} = await client.me();
  requireFilterRight(me, {isForAll, undone: 'nothing was done', ...(isForAll && {without: '--all-domains'})});
  if (train) requireTrainingRight(me);
  const {data: mail} = await askOfMail(client, reference, client.quarantine.get(reference));
  const rule = senderRule(mail, action);
  if (rule.warning !== undefined) printer.warn(rule.warning);
  if (dryRun) {
    const {text, present} = senderOutcome(rule, await readFilters(client, rule, isForAll), isForAll);
    const learned = train ? `; the scanner learns this mail as ${sampleClassOf[action]}` : '';
    return printer.note(`a dry run, nothing was changed: ${presentText(present)}${text}${learned}`);
  }

  const {filter, isNew, text} = await addSenderFilter(client, rule, isForAll);
  printer.record(filter, isForAll ? globalFilters : mailFilters);
  printer.note(`${presentText(isNew ? undefined : filter)}${text}; this mail stays held`);
  // After the filter: that can be taken back, and repeating the command finds it.
  const added = `filter ${filter.id} was ${isNew ? 'added' : 'there already'}`;
  if (train) printer.note(await trainScanner(client, reference, {action, added}));
};

const presentText = (filter: GlobalFilter | undefined): string => (filter ? `filter ${filter.id} was there already: ` : '');
