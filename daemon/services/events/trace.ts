// What became of mail: the event logs of all nodes, merged into one list.
import {ascending} from '../../../shared/collections.ts';
import {Fault} from '../../../shared/fault.ts';
import {nodeIdPattern} from '../../../shared/fields.ts';
import type {MailReference} from '../../../shared/held-mail.ts';
import type {TraceFilter} from '../../../shared/hold-filter.ts';
import type {MailEvent} from '../../../shared/mail-event.ts';
import type {Actor} from '../actor.ts';
import type {AskAll, Gathered} from '../peers/gather.ts';
import type {Store} from '../ports.ts';
import type {StoredMailEvent, TracePosition} from './mail-event.ts';

export interface Trace {
  /** The newest matches of all nodes, `limit` at most, after the entry with the id `cursor`. */
  find(actor: Actor, filter: TraceFilter, page: {limit: number; cursor?: string | undefined}): Promise<Gathered<MailEvent[]>>;
  /** All that happened to one mail, oldest first. Throws a Fault `not_found` if the caller may see nothing of it. */
  show(actor: Actor, mail: MailReference): Promise<MailEvent[]>;
}

/** The event log of one node: this node, or a peer over mutual TLS. */
export interface TraceLog {
  readonly nodeId: string;
  find(filter: TraceFilter, page: TraceLogPage, actor: Actor): Promise<MailEvent[]>;
}

interface TraceLogPage {
  limit: number;
  after?: TracePosition | undefined;
}

/** As many as one mail may have; nobody acts on a mail so often. */
const maxOfMail = 1000;

interface Needs {
  /** The logs of all current nodes; called for every request. */
  logs(): TraceLog[];
  ask: AskAll;
}

export const createTrace = ({logs, ask}: Needs): Trace => ({
  async find(actor, filter, {limit, cursor}) {
    const after = cursor === undefined ? undefined : positionOf(cursor);
    const asked = logs().filter(({nodeId}) => filter.node === undefined || nodeId === filter.node);
    const {answers, unreachable} = await ask(asked, async log => log.find(filter, {limit, after}, actor));
    const entries = answers.flatMap(({answer}) => answer).map(entry => ({entry, position: positionOf(entry.id)}));
    const sorted = entries.toSorted((a, b) => inOrder(a.position, b.position));
    return {result: sorted.slice(0, limit).map(({entry}) => entry), unreachable};
  },
  async show(actor, mail) {
    const log = logs().find(({nodeId}) => nodeId === mail.node_id);
    if (!log) throw new Fault('unknown_node', `there is no node ${mail.node_id}; GET /cluster/status lists the nodes`);
    return storyOf(log, actor, mail);
  },
});

/** The log in a store that all nodes share, which has the entries of all of them. */
export const createCommonTrace = (log: TraceLog): Trace => ({
  find: async (actor, filter, {limit, cursor}) => ({
    result: await log.find(filter, {limit, after: cursor === undefined ? undefined : positionOf(cursor)}, actor),
    unreachable: [],
  }),
  show: async (actor, mail) => storyOf(log, actor, mail),
});

const storyOf = async (log: TraceLog, actor: Actor, {node_id, queue_id}: MailReference): Promise<MailEvent[]> => {
  const entries = await log.find({node: node_id, queue_id}, {limit: maxOfMail}, actor);
  if (entries.length > 0) return entries.toReversed();
  throw new Fault('not_found', `nothing is known of a mail ${node_id}/${queue_id}`);
};

interface LogNeeds {
  store: Pick<Store, 'events' | 'config'>;
  nodeId: string;
  /** Whether the store has the entries of this node only. */
  isOwn: boolean;
}

/** The log of this node, or of all nodes that share its store. */
export const createTraceLog = ({store, nodeId, isOwn}: LogNeeds): TraceLog => ({
  nodeId,
  async find(filter, {limit, after}, {reach}) {
    const before = after && (isOwn ? ownPosition(after, nodeId) : after);
    return shownEvents({store, nodeId}, await store.events.find(filter, reach, {limit, ...(before && {before})}));
  },
});

/** Entries of this node, or of the nodes that share its store. */
export const shownEvents = async (
  {store, nodeId}: {store: Pick<Store, 'config'>; nodeId: string},
  stored: readonly StoredMailEvent[],
): Promise<MailEvent[]> => {
  const keyIds = [...new Set(stored.flatMap(({key_id}) => key_id ?? []))];
  const keys = keyIds.length === 0 ? [] : await store.config.listApiKeys(keyIds);
  const names = new Map(keys.map(({id, name}) => [id, name]));
  return stored.map(entry => toEvent(entry, nodeId, names));
};

/** The entries of one node after a place in the log of all. */
const ownPosition = ({number, logged_by}: TracePosition, nodeId: string): TracePosition => ({
  number: ascending(nodeId, logged_by) > 0 ? number + 1 : number,
  logged_by: '',
});

const toEvent = (
  {number, domain_id, node_id, logged_by, ...entry}: StoredMailEvent,
  nodeId: string,
  keyNames: ReadonlyMap<number, string>,
): MailEvent => ({
  id: idOf({number, logged_by: logged_by ?? nodeId}),
  node_id: node_id ?? nodeId,
  key_name: entry.key_id === null ? null : (keyNames.get(entry.key_id) ?? null),
  ...entry,
});

const idOf = ({number, logged_by}: TracePosition): string => `${number.toString(36)}-${logged_by}`;

/** Throws a Fault for what is no id of an entry. */
export const positionOf = (id: string): TracePosition => {
  const [, digits = '', logged_by = ''] = /^([0-9a-z]{1,11})-(.+)$/.exec(id) ?? [];
  const number = Number.parseInt(digits, 36);
  if (Number.isSafeInteger(number) && nodeIdPattern.test(logged_by)) return {number, logged_by};
  const detail = 'must be the id of an entry';
  throw new Fault('invalid_parameter', `cursor ${detail}`, {fields: [{path: 'cursor', detail}]});
};

/** Newest first, then by node. */
export const inOrder = (a: TracePosition, b: TracePosition): number => b.number - a.number || ascending(a.logged_by, b.logged_by);
