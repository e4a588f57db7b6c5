// Commands `quarantine allow` and `quarantine block`: a filter for the sender of a held mail.
import type {Command} from 'commander';
import {globalFilters, mailFilters} from '../filter/filter-fields.ts';
import type {Session} from '../session.ts';
import {parseMailId} from './held-mail-columns.ts';
import {addSenderFilter, ruleText, type SenderAction, senderRule} from './sender-filter.ts';

interface Flags {
  allDomains?: boolean;
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
    .option('--dry-run', 'say what the filter would do, and add none')
    .addHelpText('after', helpOf(action))
    .action((id: string, flags: Flags) => addFilter(session, action, {id, ...flags}));

const helpOf = (action: SenderAction): string => `
The mail itself stays held: quarantine release delivers it, quarantine discard deletes it.

Examples:
  mfctl quarantine ${action} NODE/QUEUE
  mfctl quarantine ${action} NODE/QUEUE --all-domains`;

const addFilter = async (
  session: Session,
  action: SenderAction,
  {id, allDomains: isForAll = false, dryRun}: Flags & {id: string},
): Promise<void> => {
  const printer = session.printer();
  const reference = parseMailId(id);
  const client = await session.client();
  const {data: mail} = await client.quarantine.get(reference);
  const rule = senderRule(mail, action);
  if (rule.warning !== undefined) printer.warn(rule.warning);
  if (dryRun) return printer.note(`a dry run, nothing was changed: ${ruleText(rule, isForAll)}`);

  const {filter, isNew} = await addSenderFilter(client, rule, isForAll);
  printer.record(filter, isForAll ? globalFilters : mailFilters);
  printer.note(`${isNew ? '' : `filter ${filter.id} was there already: `}${ruleText(rule, isForAll)}; this mail stays held`);
};
