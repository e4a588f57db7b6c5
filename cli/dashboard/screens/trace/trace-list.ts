// List of what happened to mail.
import {countText} from '../../../output/cell-text.ts';
import {queryWords} from '../../../quarantine/hold-query.ts';
import {
  completeQuery,
  type KnownNames,
  parseQuery,
  printQuery,
  queryFault,
  traceWords,
  withAddressFilters,
} from '../../../quarantine/query-line.ts';
import {eventFields} from '../../../trace/event-fields.ts';
import {type List, screenColumns, type TuiColumn} from '../../list/list.ts';
import {clockText, dayText} from '../../list/moment-cells.ts';
import type {Loaded} from '../../shell/source.ts';
import {hasOlder, type TraceRow, type TraceState, traceLimit} from './trace-state.ts';

interface TraceFacts {
  loaded: Pick<Loaded<unknown>, 'failure' | 'loadedAtMs'>;
  names: KnownNames | undefined;
}

export const traceList = (state: TraceState, {loaded, names}: TraceFacts): List<TraceRow> => {
  const {tail, isRead, unreachable, filter} = state;
  const {failure, loadedAtMs} = loaded;
  return {
    ...{tail, rows: isRead ? tail.rows : undefined, failure, loadedAtMs},
    keyOf: ({key}) => key,
    columns: () => columns,
    head: () => ['Trace'],
    // The nodes have filtered already.
    matches: () => true,
    hint: filterHint,
    meaning: text => withAddressFilters(text, traceWords),
    check: ({text}) => queryFault(text, traceWords),
    prompt: {
      label: '/',
      text: filter === '' ? '' : `${printQuery(parseQuery(filter, traceWords))} `,
      hint: text => promptHint(withAddressFilters(text, traceWords)),
      complete: text => completeQuery(text, names, traceWords),
    },
    banners:
      unreachable.length === 0 ? [] : [{text: `! ${unreachable.join(', ')} did not answer: entries are missing`, tone: 'warn'}],
    empty: [filter === '' ? 'No mail has come yet' : 'Nothing matches this filter. escape clears it, / changes it.'],
    ending: endingText(state),
  };
};

const filterHint = 'an address, words of the subject, domain: from: sender: to: since:2h until: event: client: id: node:';

const promptHint = (text: string): string => {
  if (text.trim() === '') return `${filterHint}; tab completes`;
  const fault = queryFault(text, traceWords);
  if (fault !== undefined) return fault;
  const {event, client, messageId, ...query} = parseQuery(text, traceWords);
  const words = [
    Object.keys(query).length > 0 && queryWords(query),
    event?.replaceAll(',', ' or '),
    client !== undefined && `from client ${client}`,
    messageId !== undefined && `with the Message-ID ${messageId}`,
  ];
  return `${words.filter(Boolean).join(', ')} (ctrl+u empties the line)`;
};

const endingText = (state: TraceState): string | undefined => {
  const {tail, older, next, isRead} = state;
  if (older === 'asked') return '── older ones are being read … ──';
  if (older === 'failed') return '── older ones could not be read; r tries again ──';
  if (!isRead || tail.rows.length === 0 || hasOlder(state)) return undefined;
  return next === undefined
    ? '── this is all there is ──'
    : `── the latest ${countText(traceLimit)}; narrow the filter to see earlier ones: until:, to:, event: ──`;
};

const columns: TuiColumn<TraceRow>[] = [
  {title: 'DAY', cell: ({at}) => dayText(at), width: 5, dropRank: 4},
  {title: 'TIME', cell: ({at}) => clockText(at), width: 9},
  ...screenColumns(eventFields, undefined),
];
