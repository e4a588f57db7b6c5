// List of events.
import {eventTypes, permissionFor} from '../../../../shared/event-type.ts';
import type {HeldMailDetail} from '../../../../shared/held-mail.ts';
import type {Client} from '../../../client/client.ts';
import {asCliError} from '../../../errors.ts';
import {plural, senderText, sizeText, timeText} from '../../../output/cell-text.ts';
import type {Tone} from '../../../output/column.ts';
import type {Banner, List, TuiColumn} from '../../list/list.ts';
import type {ListQuery} from '../../list/list-query.ts';
import {clockText, dayText} from '../../list/moment-cells.ts';
import type {Tail} from '../../list/tail.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {type EventRow, eventLimit, type GapRow, type LogRow, matchesEvent} from '../../shell/event-log.ts';
import {type DetailPair, detailPage} from '../../shell/fit-text.ts';
import type {LiveState} from '../../shell/live.ts';
import type {Page} from '../../shell/modal.ts';
import type {Style, Theme} from '../../shell/theme.ts';

const typeMarks: Record<EventRow['type'], string> = {
  held: '■',
  released: '▲',
  discarded: '✗',
  domain: '◆',
  key: '◇',
  health: '●',
};

export interface EventFacts {
  live: LiveState;
  receivingSinceMs: number | undefined;
  lostAtMs: number | undefined;
  me: AppContext['me'];
}

export const eventsList = (tail: Tail<LogRow>, facts: EventFacts): List<LogRow> => ({
  tail,
  rows: tail.rows,
  keyOf: ({key}) => key,
  columns: width => (width < wideFrom ? narrowColumns : wideColumns),
  head: () => ['Events'],
  matches: matchesEvent,
  terms: {type: eventTypes, node: tail.rows.flatMap(row => (row.kind === 'event' ? row.node : []))},
  hint: 'words, type:held,health and node:NAME',
  check: typesFault,
  banners: eventBanners(facts),
  spanning: row => (row.kind === 'gap' ? {text: gapText(row), style: 'warn'} : undefined),
  empty: emptyTexts(facts),
  ending: endingText(tail, facts),
});

const typesFault = ({terms}: ListQuery): string | undefined => {
  const types: readonly string[] = eventTypes;
  const wrong = terms.type?.split(',').find(type => !types.includes(type.toLowerCase()));
  return wrong === undefined ? undefined : `there is no type ${wrong}; there are ${eventTypes.join(', ')}`;
};

/** Events that cannot be received, and why. */
const eventBanners = ({live, lostAtMs, me}: EventFacts): Banner[] => {
  const banners: Banner[] = [];
  if (lostAtMs !== undefined)
    banners.push({text: `✗ no events since ${clockText(lostAtMs)}${because(live)}; retrying`, tone: 'bad'});
  const unreceived = eventTypes.filter(type => !me.permissions.includes(permissionFor[type]));
  if (unreceived.length > 0)
    banners.push({text: `This key is ${me.scope}: it does not receive ${unreceived.join(', ')}`, tone: 'warn'});
  return banners;
};

const because = ({reason}: LiveState): string => (reason === undefined ? '' : `: ${reason}`);

const gapText = ({missed}: GapRow): string => {
  if (missed.kind === 'gap') return `── events of mail on ${missed.node} may be missing here ──`;
  const what = missed.isResumed ? 'only events of mail are caught up' : 'what happened meanwhile is not here';
  return `── connection lost ${clockText(missed.fromMs)}–${clockText(missed.toMs)}: ${what} ──`;
};

const emptyTexts = ({live, receivingSinceMs, lostAtMs}: EventFacts): string[] => {
  if (receivingSinceMs !== undefined && lostAtMs === undefined)
    return ['Nothing has happened yet: mail that is held shows up here'];
  if (receivingSinceMs !== undefined || live.connection === 'connecting') return [];
  return [
    `There is no event stream${because(live)}`,
    'The other screens poll instead. For a stream, use a node that sends events (mfctl events shows whether it does), a key that may receive them, and no proxy that buffers answers or ends them after 15 s of silence.',
  ];
};

const endingText = ({rows}: Tail<LogRow>, {receivingSinceMs}: EventFacts): string | undefined => {
  if (receivingSinceMs === undefined) return undefined;
  const limit = rows.length >= eventLimit ? `; the latest ${plural(eventLimit, 'event')} are kept` : '';
  return `── heard since ${clockText(receivingSinceMs)}; earlier events are in the audit log and the quarantine${limit} ──`;
};

const wideFrom = 110;

const ofEvent =
  (cell: (row: EventRow) => string | number | undefined) =>
  (row: LogRow): string | number | undefined =>
    row.kind === 'event' ? cell(row) : '';

const typeColumn: TuiColumn<LogRow> = {
  title: 'TYPE',
  cell: ofEvent(({type}) => `${typeMarks[type] ?? '?'} ${type}`),
  width: 11,
  style: row => (row.kind === 'event' ? typeStyle(row) : undefined),
};

const typeStyle = ({type, id}: EventRow): Style | undefined => {
  if (type === 'health') return healthTone(id);
  return ({held: 'warn', released: 'good', discarded: 'bad', domain: 'accent', key: 'accent'} as const)[type];
};

const healthTone = (change: string): Tone => (change.endsWith('online') ? 'good' : change.endsWith('offline') ? 'bad' : 'warn');

const timeColumn: TuiColumn<LogRow> = {title: 'TIME', cell: ofEvent(({at}) => clockText(at)), width: 9};

const narrowColumns: TuiColumn<LogRow>[] = [
  timeColumn,
  typeColumn,
  {title: 'NODE', cell: ofEvent(({node}) => node), width: 10},
  {title: 'WHAT', cell: ofEvent(row => whatText(row)), width: 20, grow: 1},
];

/** The most important facts in one cell. */
const whatText = ({type, id, about, sender}: EventRow): string => {
  if (type === 'held') return `${about === '' ? '(no subject)' : about} · ${sender} · ${id}`;
  return about === '' ? id : `${id} ${about}`;
};

const wideColumns: TuiColumn<LogRow>[] = [
  {title: 'DAY', cell: ofEvent(({at}) => dayText(at)), width: 5, dropRank: 2},
  timeColumn,
  typeColumn,
  {title: 'NODE', cell: ofEvent(({node}) => node), width: 10, grow: 1},
  {title: 'WHAT', cell: ofEvent(({id}) => id), width: 19, grow: 1},
  {title: 'SUBJECT OR CHANGE', cell: ofEvent(({about}) => about), width: 18, grow: 4},
  {title: 'FROM', cell: ofEvent(({sender}) => sender), width: 14, grow: 2},
  {title: 'TO', cell: ofEvent(({recipient}) => recipient), width: 14, grow: 2, dropRank: 1},
  {title: 'SCORE', cell: ofEvent(({score}) => score), width: 7, align: 'right', dropRank: 3},
];

const isOfMail = ({type}: EventRow): boolean => type === 'held' || type === 'released' || type === 'discarded';

/** Never rejects: a mail that is no longer held is reported as such. */
export const eventPage = async (client: Pick<Client, 'quarantine'>, row: EventRow, theme: Theme): Promise<Page> => {
  const pairs = isOfMail(row) ? [...eventPairs(row), ...(await mailPairs(client, row))] : eventPairs(row);
  return detailPage(`Event: ${row.type}`, pairs, theme);
};

const eventPairs = (row: EventRow): DetailPair[] => {
  const base: DetailPair[] = [
    ['Time', timeText(row.at)],
    ['Type', row.type],
    ['Node', row.node],
  ];
  switch (row.type) {
    case 'held':
      return [...base, ['Queue id', row.id], ['Subject', row.about], ['From', row.sender], ['To', row.recipient]];
    case 'released':
    case 'discarded':
      return [...base, ['Queue id', row.id], ['Done', row.about]];
    case 'domain':
      return [...base, ['Domain', row.id], ['Change', row.about]];
    case 'key':
      return [...base, ['Key', row.id], ['Change', row.about]];
    case 'health':
      return [...base, ['Health', row.id]];
    default:
      return row.type satisfies never;
  }
};

const mailPairs = async (client: Pick<Client, 'quarantine'>, {node, id}: EventRow): Promise<DetailPair[]> => {
  try {
    const {data} = await client.quarantine.get({node_id: node, queue_id: id});
    return [['', ''], ['Now', 'held: the screen quarantine can release or discard it', 'warn'], ...detailPairs(data)];
  } catch (error) {
    const {code, detail} = asCliError(error);
    if (code === 'not_found' || code === 'conflict') return [['Now', 'not held any more: released, discarded or expired']];
    return [['Now', `not known: ${detail}`, 'warn']];
  }
};

const detailPairs = (mail: HeldMailDetail): DetailPair[] => [
  ['Domain', mail.domain],
  ['Direction', mail.direction],
  ['Recipients', mail.recipients.join(', ')],
  ['Sender', senderText(mail.sender)],
  ['Reason', mail.reason],
  ['Score', mail.score],
  ['Symbols', mail.symbol_scores.map(({name, score}) => `${name} ${score}`).join(', ')],
  ['Size', sizeText(mail.size_bytes)],
  ['Client', `${mail.client_ip} (${mail.helo})`],
];
