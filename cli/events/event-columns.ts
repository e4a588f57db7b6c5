import type {ClusterEvent} from '../../shared/cluster-event.ts';
import {actorText, firstOf, senderText, timeOfDay, timeText} from '../output/cell-text.ts';
import {healthTones} from '../output/column.ts';
import type {StreamColumn, Streamed} from '../output/stream-printer.ts';
import {mailFields, mailId} from '../quarantine/held-mail-columns.ts';

const columns: StreamColumn<ClusterEvent>[] = [
  {title: 'AT', cell: event => timeText(event.at), width: 20, brief: event => timeOfDay(event.at), briefWidth: 9},
  {title: 'NODE', cell: event => event.node_id, width: 10, dropRank: 1},
  {
    title: 'EVENT',
    cell: event => event.type,
    width: 9,
    tone: event => (event.type === 'health' ? healthTones[event.to] : undefined),
  },
  {title: 'ABOUT', cell: event => aboutText(event), width: 40, isFlexible: true},
];

/** The members of all events, then those of some. */
export const clusterEvents: Streamed<ClusterEvent> = {
  fields: [
    ...['type', 'at', 'node_id', ...mailFields.filter(field => field !== 'node_id')],
    ...['state', 'acted_at', 'acted_by_key_id', 'id', 'name', 'change', 'from', 'to'],
  ],
  nameOf: event => {
    if ('queue_id' in event) return mailId(event);
    if (event.type === 'health') return event.node_id;
    return event.type === 'domain' ? event.name : String(event.id);
  },
  columns,
};

/** Text of a mail comes last, where it cannot be mistaken for anything else. */
const aboutText = (event: ClusterEvent): string => {
  switch (event.type) {
    case 'held':
      return `${mailId(event)} ${event.score} ${event.reason} from ${senderText(event.sender)} to ${firstOf(event.recipients)}: ${event.subject}`;
    case 'released':
    case 'discarded':
      return `${mailId(event)} ${actorText(event)}`;
    case 'domain':
    case 'key':
      return `${event.change} ${event.id} ${event.name}`;
    case 'health':
      return `${event.from} -> ${event.to}`;
    default:
      event satisfies never;
      return '';
  }
};
