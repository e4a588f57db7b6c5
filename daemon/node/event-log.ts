// Event log of this node: what it writes, how much of it stays, and who reads it.
import {createEventRecorder} from '../services/events/event-recorder.ts';
import {createCommonTrace, createTrace, createTraceLog} from '../services/events/trace.ts';
import {remoteTraceLog} from '../services/events/trace-questions.ts';
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
  return {record: recorder.record, jobs, flush: recorder.flush};
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
