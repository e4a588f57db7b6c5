import {type Command, Option} from 'commander';
import {groupBy} from '../../shared/collections.ts';
import type {MailEvent} from '../../shared/mail-event.ts';
import {mailEvents as names} from '../../shared/mail-event-name.ts';
import type {Client, Query} from '../client/client.ts';
import {endMoment, isoMomentBefore, pastMoment} from '../command-line/moment.ts';
import {pageLimit} from '../command-line/option-values.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import {type ListPage, printAll, warnOfPartialList} from '../output/print-all.ts';
import {parseMailId} from '../quarantine/held-mail-columns.ts';
import {addressValue, plainAddress} from '../quarantine/hold-query.ts';
import type {Session} from '../session.ts';
import {mailEvents} from './event-fields.ts';
import {storyOf} from './story.ts';

interface FindFlags {
  recipient?: string;
  sender?: string;
  from?: string;
  address?: string;
  subject?: string;
  messageId?: string;
  client?: string;
  domain?: string;
  node?: string;
  event?: string;
  since?: string;
  until?: string;
  limit?: number;
  all?: boolean;
}

export const addTraceCommands = (program: Command, session: Session): void => {
  const trace = program.command('trace').description('what became of a mail, on all nodes').helpCommand(false);

  session
    .prints(trace.command('find'), mailEvents)
    .description('find mail that came, whatever became of it, newest first')
    .option('--recipient <address>', 'to this address', addressValue)
    .option('--sender <sender>', "with this address or domain as envelope sender; '<>' for bounces", plainAddress)
    .option('--from <author>', 'with this address or domain in the header From', plainAddress)
    .option('--address <address>', 'with this address as sender, in the header From, or as recipient', addressValue)
    .option('--subject <text>', 'with this text in the subject')
    .option('--message-id <id>', 'with this Message-ID, with or without its brackets')
    .option('--client <ip>', 'from this address of the network')
    .option('--domain <domain>', 'of this domain', plainAddress)
    .option('--node <node>', 'that came to this node')
    .option('--event <events>', `what happened, with commas between: ${names.join(', ')}`, eventNames)
    .option('--since <time>', "at or after this time: 12:30, yesterday, '2026-03-01 12:30', or 2h and 3d before now", pastMoment)
    .option('--until <time>', 'before this time, in the same forms', endMoment)
    .option('--limit <number>', 'maximum number of entries, up to 1000 (default: 100)', pageLimit)
    .addOption(new Option('--all', 'print the whole list').conflicts('limit'))
    .addHelpText('after', findHelp)
    .action((flags: FindFlags) => find(session, flags));

  session
    .prints(trace.command('show'), mailEvents)
    .description('tell everything that happened to one mail, in order')
    .argument('<mail>', 'NODE/QUEUE, or a Message-ID')
    .addHelpText('after', showHelp)
    .action((mail: string) => show(session, mail));
};

const findHelp = `
Examples:
  mfctl trace find --recipient ceo@example.com --since yesterday
  mfctl trace find --address bank.example --event held,rejected,refused
  mfctl trace find --all --since 1d -o csv`;

const showHelp = `
With a Message-ID all copies are told of, on all nodes.

Examples:
  mfctl trace show NODE/QUEUE
  mfctl trace show '<20260301.4711@news.example>'`;

const eventNames = (text: string): string => {
  const unknown = text.split(',').find(name => !(names as readonly string[]).includes(name));
  if (unknown === undefined) return text;
  throw usageError(`--event ${unknown}: it has to be some of ${names.join(', ')}, with commas between them`);
};

const queryOf = ({messageId, since, until, limit, all, ...flags}: FindFlags): Query => {
  const nowMs = Date.now();
  const momentOf = (text: string | undefined) => (text === undefined ? undefined : (isoMomentBefore(text, nowMs) ?? text));
  if (since !== undefined && until !== undefined && since >= until)
    throw usageError(`--since ${since} is not before --until ${until}: nothing happened then`);
  return {...flags, message_id: messageId, since: momentOf(since), until: momentOf(until)};
};

const find = async (session: Session, flags: FindFlags): Promise<void> => {
  const client = await session.client();
  const query = queryOf(flags);
  if (flags.all)
    return warnOfPartialList(session, await printAll(session, mailEvents, {pages: pagesOf(client, query), sorter: undefined}));
  const answer = await client.trace.find({...query, limit: flags.limit});
  session.printer().list(answer.data, mailEvents);
  if (answer.data.length === (flags.limit ?? usualLimit))
    session.printer().note('there may be more: --limit 1000, --all, or narrower with --since');
  warnOfPartialList(session, answer);
};

const usualLimit = 100;
const pageSize = 1000;

async function* pagesOf(client: Client, query: Query): AsyncIterable<ListPage<MailEvent>> {
  for (let cursor: string | undefined; ; ) {
    const {data, unreachableNodes} = await client.trace.find({...query, limit: pageSize, cursor});
    yield {rows: data, unreachableNodes};
    cursor = data.at(-1)?.id;
    if (data.length < pageSize) return;
  }
}

const show = async (session: Session, mail: string): Promise<void> => {
  const client = await session.client();
  const events = mail.includes('@')
    ? await byMessageId(session, client, mail)
    : (await client.trace.show(parseMailId(mail))).data;
  const printer = session.printer();
  if (!printer.isForPeople) return printer.list(events, mailEvents);
  const mails = groupBy(events, ({node_id, queue_id, id}) => (queue_id === null ? id : `${node_id}/${queue_id}`));
  const stories = [...mails].map(([name, some]) => [...(mails.size > 1 ? [name] : []), ...storyOf(some)].join('\n'));
  printer.text(`${stories.join('\n\n')}\n`);
};

const byMessageId = async (session: Session, client: Client, messageId: string): Promise<MailEvent[]> => {
  const answer = await client.trace.find({message_id: messageId, limit: pageSize});
  warnOfPartialList(session, answer);
  const stories = new Map<string, MailEvent[]>();
  for (const {node_id, queue_id} of answer.data) {
    if (queue_id === null || stories.has(`${node_id}/${queue_id}`)) continue;
    stories.set(`${node_id}/${queue_id}`, (await client.trace.show({node_id, queue_id})).data);
  }
  const told = [...stories.values()].flat();
  if (told.length > 0) return told;
  throw new CliError('not_found', `no mail with the Message-ID ${messageId} is known`, {
    exitCode: exitCodes.notFound,
    hint: 'mfctl trace find --help',
  });
};
