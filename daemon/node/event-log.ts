// Event log of this node: what it writes, how much of it stays, and who reads it.
import {Fault} from '../../shared/fault.ts';
import {toListEntry} from '../hold/held-facts.ts';
import {createEventRecorder} from '../services/events/event-recorder.ts';
import {createMailSource, type MailSource} from '../services/events/mail-source.ts';
import {remoteMailSource} from '../services/events/mail-source-questions.ts';
import {sharePages} from '../services/events/shared-pages.ts';
import {createCommonTrace, createTrace, createTraceLog} from '../services/events/trace.ts';
import {remoteTraceLog} from '../services/events/trace-questions.ts';
import type {AskedNode} from '../services/peers/question.ts';
import type {Base} from './base.ts';
import type {Job} from './jobs.ts';
import type {followPeers} from './peer-clients.ts';

const dayMs = 86_400_000;
/** Entries that one transaction removes: other writers wait for it. */
const atOnce = 200;

export const openEventLog = ({
  storage: {store},
  settings,
  metrics,
  now,
}: Pick<Base, 'storage' | 'settings' | 'metrics' | 'now'>) => {
  store.configureEvents(() => settings().events.subjects === 'keep');
  const recorder = createEventRecorder({store, onLeftOut: () => metrics.eventsLeftOut('store')});

  const sweep = async (): Promise<void> => {
    const {keep_days, max_rows} = settings().events;
    let surplus = Math.max(0, (await store.events.count()) - max_rows);
    for (let gone = atOnce; gone > 0; ) {
      const before = new Date(now() - keep_days * dayMs).toISOString();
      gone = await store.transaction(async tx => tx.events.forget({before, surplus, limit: atOnce}));
      metrics.eventsSurplus(Math.min(gone, surplus));
      surplus = Math.max(0, surplus - gone);
    }
  };

  const jobs: Job[] = [
    {everyMs: 400, what: 'writing the event log', run: recorder.flush},
    {everyMs: 600_000, what: 'removing old entries of the event log', run: sweep, mayBeCutOff: true},
  ];
  return {record: recorder.record, jobs, close: recorder.flush};
};

/** Lists and traces read the same log. */
const ownReadings = 4;
const remoteReadings = 16;

/** The logs that streams of events read: on one store for all nodes it is one. */
export const openMailSources = (
  {storage: {store, nodeId, engine}}: Pick<Base, 'storage'>,
  {nodes, isAway}: Pick<ReturnType<typeof followPeers>, 'nodes' | 'isAway'>,
) => {
  const holdOf = (owner: string) => (engine.kind === 'own' ? store.hold : engine.store.of(owner).hold);
  const log = createMailSource({
    ...{store, nodeId, name: engine.kind === 'own' ? nodeId : ''},
    findHeld: async (owner, queueIds) => (await holdOf(owner).findAll(queueIds)).map(row => toListEntry(owner, row)),
  });
  const source = sharePages(log, {atOnce: ownReadings, isByKey: false});
  const known = new WeakMap<AskedNode, MailSource>();
  const remote = (node: AskedNode): MailSource => {
    const shared = known.get(node) ?? sharePages(reachableSource(node), {atOnce: remoteReadings, isByKey: true});
    known.set(node, shared);
    return shared;
  };
  const reachableSource = (node: AskedNode): MailSource => {
    const {name, after} = remoteMailSource(node);
    return {
      name,
      async after(...asked) {
        if (isAway(name)) throw new Fault('node_unreachable', `node ${name} is away`);
        return after(...asked);
      },
    };
  };
  return {source, sources: () => (engine.kind === 'own' ? [source, ...nodes().map(remote)] : [source])};
};

export const openTrace = (
  {storage: {store, nodeId, engine}}: Pick<Base, 'storage'>,
  {nodes, ask}: Pick<ReturnType<typeof followPeers>, 'nodes' | 'ask'>,
) => {
  const isOwn = engine.kind === 'own';
  const traceLog = createTraceLog({store, nodeId, isOwn});
  const trace = isOwn ? createTrace({logs: () => [traceLog, ...nodes().map(remoteTraceLog)], ask}) : createCommonTrace(traceLog);
  return {trace, traceLog};
};
