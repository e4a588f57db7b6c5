import type {Command} from 'commander';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import {isHopeless} from '../client/follow-events.ts';
import {pageLimit, wholeNumber} from '../command-line/option-values.ts';
import type {CliError} from '../errors.ts';
import {actorText, firstOf, senderText, timeOfDay, timeText} from '../output/cell-text.ts';
import {warnOfPartialList} from '../output/print-all.ts';
import {createStreamPrinter, type StreamColumn, type Streamed} from '../output/stream-printer.ts';
import {addEndOptions, createContact, keepWatching, type WatchEnd} from '../output/watching.ts';
import type {Session} from '../session.ts';
import {mailFields, mailId} from './held-mail-columns.ts';
import {type ActedEvent, type EventState, watchHeldMail} from './held-mail-watch.ts';
import {addQueryOptions, parametersOf, type QueryFlags, queryOf} from './hold-query.ts';
import {reportUnknownFilter} from './quarantine-list.ts';

interface WatchFlags extends QueryFlags, WatchEnd {
  last: number;
}

/** An event of its type; for mail that was held before, it is built from the list. */
type MailNews = ActedEvent | Extract<ClusterEvent, {type: 'held'}>;

const columns: StreamColumn<MailNews>[] = [
  {title: 'AT', cell: news => timeText(news.at), width: 20, brief: news => timeOfDay(news.at), briefWidth: 9},
  {title: 'EVENT', cell: news => news.type, width: 9},
  {title: 'ID', cell: mailId, width: 26},
  {title: 'SCORE', cell: news => (news.type === 'held' ? news.score : null), width: 5, align: 'right'},
  {title: 'REASON', cell: news => (news.type === 'held' ? news.reason : null), width: 8, dropRank: 1},
  {
    title: 'SENDER',
    cell: news => (news.type === 'held' ? senderText(news.sender) : null),
    width: 20,
    isFlexible: true,
    dropRank: 3,
  },
  {
    title: 'TO',
    cell: news => (news.type === 'held' ? firstOf(news.recipients) : null),
    wide: news => (news.type === 'held' ? news.recipients.join(', ') : null),
    width: 20,
    isFlexible: true,
    dropRank: 2,
  },
  {title: 'SUBJECT', cell: news => (news.type === 'held' ? news.subject : actorText(news)), width: 20, isFlexible: true},
];

const mailNews: Streamed<MailNews> = {
  fields: ['type', 'at', ...mailFields, 'state', 'acted_at', 'acted_by_key_id'],
  nameOf: mailId,
  columns,
};

export const addWatchCommand = (quarantine: Command, session: Session): void => {
  const watch = session
    .prints(quarantine.command('watch'), mailNews)
    .description('show held mail as it arrives, and what becomes of it, until Ctrl-C');
  addQueryOptions(watch).option('--last <number>', 'start with this many mails that are already held', lastCount, 10);
  addEndOptions(watch)
    .addHelpText('after', help)
    .action((flags: WatchFlags) => watchQuarantine(session, flags));
};

const help = `
In a pipe each line is a JSON object: the mail as quarantine list has it, with "type" and "at".

Examples:
  mfctl quarantine watch --domain example.com --min-score 10
  mfctl quarantine watch --last 0 --limit 1 --for 10m --sender news@example.org
  mfctl quarantine watch -o ndjson | grep '"reason":"phishing"'`;

const watchQuarantine = (session: Session, {last, limit, for: forMs, ...filter}: WatchFlags): Promise<void> => {
  const lines = createStreamPrinter(session, mailNews);
  const {onAnswer, onFailure, onEvents} = createNotes(session);

  return keepWatching(session.terminal, {for: forMs, limit}, async ({signal, countLine}) => {
    const show = async (news: MailNews): Promise<void> => {
      if (signal.aborted) return;
      await lines.print(news);
      countLine();
    };
    const client = await session.clientFor(await session.connection());
    await reportUnknownFilter(client, filter, session.printer());
    await watchHeldMail(client, {
      query: parametersOf(queryOf(filter), Date.now()),
      firstCount: last,
      signal,
      onHeld: mail => show({type: 'held', at: mail.arrived_at, ...mail}),
      onActed: show,
      onAnswer,
      onFailure,
      onEvents,
    });
  });
};

/** Notes on standard error. Each is printed once, until its cause changes. */
const createNotes = (session: Session) => {
  const printer = session.printer();
  const contact = createContact(printer, 'what arrived in between follows');
  let missing = '';
  let events: EventState | undefined;
  let answersWithoutEvents = 0;

  return {
    onFailure(error: CliError): void {
      if (isHopeless(error)) throw error;
      contact.lost(error);
    },
    onEvents(now: EventState): void {
      if (now.areFollowed && answersWithoutEvents > 1) printer.note('events are followed again');
      if (now.areFollowed) answersWithoutEvents = 0;
      events = now;
    },
    onAnswer(unreachableNodes: readonly string[]): void {
      contact.found();
      if (missing !== unreachableNodes.join()) {
        if (unreachableNodes.length > 0) warnOfPartialList(session, {unreachableNodes: [...unreachableNodes]});
        else printer.note('the list is complete again');
      }
      missing = unreachableNodes.join();
      if (events?.areFollowed !== false) return;
      // A node that has just started may answer for the list before it serves events.
      answersWithoutEvents += 1;
      if (answersWithoutEvents !== 2) return;
      const why = events.error === undefined ? '' : ` (${events.error.detail})`;
      printer.warn(`events cannot be followed${why}: the list is polled every few seconds, which does not show who acts`);
    },
  };
};

const lastCount = (text: string): number => (wholeNumber(text) === 0 ? 0 : pageLimit(text));
