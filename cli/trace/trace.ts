import type {Command} from 'commander';
import {groupBy} from '../../shared/collections.ts';
import type {MailReference} from '../../shared/held-mail.ts';
import type {MailEvent} from '../../shared/mail-event.ts';
import type {Client, Query} from '../client/client.ts';
import {inParallel} from '../client/in-parallel.ts';
import {addCursorPageOptions, type PageFlags, usualLimit} from '../command-line/option-values.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import {countText} from '../output/cell-text.ts';
import {fold} from '../output/display-width.ts';
import {type ListPage, printAll, warnOfPartialList} from '../output/print-all.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import {mailReferenceIn} from '../quarantine/held-mail-columns.ts';
import {checkTimes} from '../quarantine/hold-query.ts';
import {
  addStrictOption,
  askStrictly,
  reportPartial,
  reportUnknownFilter,
  type StrictFlag,
} from '../quarantine/quarantine-list.ts';
import type {Session} from '../session.ts';
import {mailEvents, mailOf} from './event-fields.ts';
import {storyOf} from './story.ts';
import {addTraceOptions, type TraceQuery, traceParameters} from './trace-query.ts';

interface FindFlags extends TraceQuery, StrictFlag, SortFlag, Omit<PageFlags, 'offset'> {}

export const addTraceCommands = (program: Command, session: Session): void => {
  const trace = program.command('trace').description('what became of a mail, on all nodes').helpCommand(false);

  const find = session
    .prints(trace.command('find'), mailEvents)
    .description('find mail that came, whatever became of it, newest first');
  addSortOption(addCursorPageOptions(addStrictOption(addTraceOptions(find))))
    .addHelpText('after', findHelp)
    .action(({all, ...flags}: FindFlags) => (all ? findAll(session, flags) : findPage(session, flags)));

  session
    .prints(trace.command('show'), mailEvents)
    .description('tell everything that happened to one mail, in order')
    .argument('<mail>', 'NODE/QUEUE, as trace find shows it, or a Message-ID')
    .addHelpText('after', showHelp)
    .action((mail: string) => show(session, mail));
};

const findHelp = `
Mail that was refused before its content came has no queue id, no subject and no Message-ID.

Examples:
  mfctl trace find --recipient ceo@example.com --since yesterday
  mfctl trace find --from bank.example --event held,rejected,refused
  mfctl trace find --message-id '<20260301.4711@news.example>'
  mfctl trace find --all --since 1d -o csv`;

const showHelp = `
A Message-ID finds all copies on all nodes, and each of them has its story. In brackets it may be one without @.

Examples:
  mfctl trace show NODE/QUEUE
  mfctl trace show '<20260301.4711@news.example>'`;

const findPage = async (session: Session, {limit, strict, sort, ...filter}: FindFlags): Promise<void> => {
  const sorter = createSorter(mailEvents, {sort});
  const query = queryOf(filter);
  const client = await session.client();
  const answer = await askStrictly(client.trace.find({...query, strict, limit}), {strict});
  if (answer.data.length === 0) await reportUnknownFilter(client, filter, session.printer());
  session.printer().list(sorter(answer.data), {...mailEvents, none: noneOf(answer, filter)});
  if (answer.data.length === (limit ?? usualLimit)) noteMore(session, answer.data.length, {sort});
  reportPartial(session, answer, {strict});
};

/** The API counts no matches: that would take as long as reading them all. */
const noteMore = (session: Session, limit: number, {sort}: SortFlag): void => {
  session.printer().note(`the newest ${countText(limit)}; there may be more: --all, or narrow it with --since and other filters`);
  if (sort !== undefined) session.printer().note('only these are sorted; --all sorts the whole list');
};

const pageSize = 1000;

const queryOf = (filter: TraceQuery): Query => {
  checkTimes(filter, 'nothing happened then');
  return traceParameters(filter, Date.now());
};

/** What to say of an empty list: a node that is silent may know the mail. */
const noneOf = ({unreachableNodes}: Pick<ListPage<never>, 'unreachableNodes'>, {node}: TraceQuery): string =>
  node !== undefined && unreachableNodes.includes(node) ? `what came to ${node} is not known` : 'nothing found';

const findAll = async (session: Session, {strict, sort, limit: _, ...filter}: FindFlags): Promise<void> => {
  const sorter = createSorter(mailEvents, {sort});
  const query = queryOf(filter);
  const client = await session.client();
  const all = printAll(session, mailEvents, {
    pages: pagesOf(client, {...query, strict}),
    sorter: sort === undefined ? undefined : sorter,
    async whenEmpty(answer) {
      await reportUnknownFilter(client, filter, session.printer());
      return noneOf(answer, filter);
    },
  });
  const printed = await askStrictly(all, {strict});
  reportPartial(session, printed, {strict});
};

/** Each page begins after the last entry of the one before, so that none is missed or repeated while mail arrives. */
async function* pagesOf(client: Client, query: Query): AsyncIterable<ListPage<MailEvent>> {
  const begun = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const {data, unreachableNodes} = await client.trace.find({...query, limit: pageSize, cursor});
    yield {rows: data, unreachableNodes};
    cursor = data.at(-1)?.id;
    if (cursor === undefined || data.length < pageSize) return;
    if (begun.has(cursor))
      throw new CliError('unexpected_answer', 'the list begins again and again', {hint: 'narrow it with --since'});
    begun.add(cursor);
  }
}

/** Entries of one mail, oldest first. */
type Story = readonly MailEvent[];

const show = async (session: Session, mail: string): Promise<void> => {
  const wanted = mailNamed(mail);
  const client = await session.client();
  const stories = typeof wanted === 'string' ? await copiesOf(session, client, wanted) : [(await client.trace.show(wanted)).data];
  const printer = session.printer();
  if (!printer.isForPeople) return printer.list(stories.flat(), mailEvents);
  const heading = stories.length > 1 ? `${countText(stories.length)} mails have this Message-ID, the oldest is first.\n\n` : '';
  const text = heading + stories.map(storyOf).join('\n');
  printer.text(fold(text, printer.maxWidth ?? Number.POSITIVE_INFINITY));
};

/** The id of a mail, or a Message-ID, which has an @ or stands in brackets. */
const mailNamed = (text: string): MailReference | string => {
  const mail = mailReferenceIn(text);
  if (mail !== undefined) return mail;
  if (text.includes('@') || /^<.+>$/s.test(text)) return text;
  const isQueueId = /^[0-9A-Za-z]{6,64}$/.test(text);
  throw usageError(
    isQueueId
      ? `${text} is a queue id without its node: it must be NODE/QUEUE`
      : `${JSON.stringify(text)} is neither NODE/QUEUE nor a Message-ID such as <20260301.4711@news.example>`,
    'mfctl trace find shows NODE/QUEUE of each mail',
  );
};

/** Enough for a person; a newsletter may have thousands. */
const maxCopies = 100;
const atOnce = 4;

/** The stories of the newest mails with this Message-ID, the oldest of these first. */
const copiesOf = async (session: Session, client: Client, messageId: string): Promise<Story[]> => {
  const {data, unreachableNodes} = await client.trace.find({message_id: messageId, limit: pageSize});
  const copies = [...groupBy(data, event => mailOf(event) ?? event.id).values()];
  if (copies.length === 0) throw noCopy(messageId, unreachableNodes);
  const told = await inParallel(copies.slice(0, maxCopies), atOnce, async known => storyFrom(client, known));
  const silent = told.flatMap(({silentNode}) => silentNode ?? []);
  warnOfPartialList(session, {unreachableNodes: [...new Set([...unreachableNodes, ...silent])]});
  if (copies.length > maxCopies || data.length === pageSize)
    session.printer().note(`the newest ${countText(told.length)} mails; mfctl trace find --all --message-id lists all`);
  return told.map(({events}) => events).toReversed();
};

const noCopy = (messageId: string, unreachableNodes: readonly string[]): CliError => {
  const isPartial = unreachableNodes.length > 0;
  const rest = isPartial ? ` on the nodes that answered; ${unreachableNodes.join(', ')} did not` : '';
  return new CliError(isPartial ? 'node_unreachable' : 'not_found', `no mail with the Message-ID ${messageId} is known${rest}`, {
    exitCode: isPartial ? exitCodes.unreachable : exitCodes.notFound,
    hint: isPartial ? 'mfctl cluster status' : 'mfctl trace find --recipient ADDRESS',
  });
};

/** What happens to held mail is found by its queue id only. A node that does not answer any more leaves what was found. */
const storyFrom = async (client: Client, known: readonly MailEvent[]): Promise<{events: Story; silentNode?: string}> => {
  const [first] = known;
  if (!first || first.queue_id === null) return {events: known.toReversed()};
  const {node_id, queue_id} = first;
  try {
    return {events: (await client.trace.show({node_id, queue_id})).data};
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== exitCodes.unreachable) throw error;
    return {events: known.toReversed(), silentNode: node_id};
  }
};
