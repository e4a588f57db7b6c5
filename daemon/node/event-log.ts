// Event log of this node: what it writes, how much of it stays, and who reads it.
import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../shared/fault.ts';
import {toListEntry} from '../hold/held-facts.ts';
import {createEventRecorder} from '../services/events/event-recorder.ts';
import type {NewMailEvent} from '../services/events/mail-event.ts';
import {createMailSource, type MailSource} from '../services/events/mail-source.ts';
import {remoteMailSource} from '../services/events/mail-source-questions.ts';
import {createRefusalBudget} from '../services/events/refusal-budget.ts';
import {createCommonTrace, createTrace, createTraceLog} from '../services/events/trace.ts';
import {remoteTraceLog} from '../services/events/trace-questions.ts';
import {createHourly} from '../services/hourly.ts';
import type {AskedNode} from '../services/peers/question.ts';
import {createSemaphore} from '../services/semaphore.ts';
import type {Base} from './base.ts';
import type {Job} from './jobs.ts';
import type {followPeers} from './peer-clients.ts';

const dayMs = 86_400_000;
/** Entries that one transaction removes: other writers wait for it. */
const atOnce = 200;
/** Parts of the index that are merged for each such step: where much of it is of entries that are gone, a part takes longer. */
const partsAStep = 4;

export const openEventLog = ({
  storage: {store, engine},
  settings,
  metrics,
  log,
  now,
}: Pick<Base, 'storage' | 'settings' | 'metrics' | 'log' | 'now'>) => {
  const note = createFailureNote(log, now);
  const onLeftOut = (count: number): void => metrics.eventsLeftOut('store', count);
  store.configureEvents({
    keepsSubjects: () => settings().events.subjects === 'keep',
    onLeftOut(count, error) {
      onLeftOut(count);
      note(error);
    },
  });
  const recorder = createEventRecorder({
    store,
    onLeftOut(count, error) {
      onLeftOut(count);
      if (error !== undefined) note(error);
    },
  });

  const budget = createRefusalBudget({limits: () => settings().events, now});
  const leaveOutRefusal = (): void => metrics.eventsLeftOut('refusals');
  /** For all listeners of the node. */
  const recordRefusal = (clientIp: string, event: () => NewMailEvent): void => {
    if (budget.take(clientIp)) recorder.record(event());
    else leaveOutRefusal();
  };

  /** Of writing entries. Rethrows a fault. */
  const noteFailure = (error: unknown): void => {
    // That the store is away is logged elsewhere.
    if (error instanceof Fault) throw error;
    note(error);
  };
  const flush = async (): Promise<void> => recorder.flush().catch(noteFailure);

  /** Writes the last of what waits: the store may be slow, or refuse an entry. */
  const close = async (withinMs = 2000): Promise<void> => {
    const endsAt = performance.now() + withinMs;
    const isWritten = async () =>
      recorder.flush().then(
        () => recorder.waiting() === 0,
        () => false,
      );
    while (!(await isWritten()) && performance.now() < endsAt) await delay(50);
  };
  /** After it. */
  const reportLost = (): void => {
    const count = recorder.waiting();
    if (count === 0) return;
    onLeftOut(count);
    log.error({left_out: count}, 'entries of the event log could not be written before the stop');
  };

  const tidy = async (parts: number): Promise<void> => {
    for (let left = parts; left > 0 && (await store.transaction(async tx => tx.events.tidy())); left -= 1);
  };

  const sweep = async (): Promise<void> => {
    const {keep_days, max_rows} = settings().events;
    let surplus = Math.max(0, (await store.events.count()) - max_rows);
    for (let gone = atOnce; gone > 0; ) {
      const before = new Date(now() - keep_days * dayMs).toISOString();
      gone = await store.transaction(async tx => tx.events.forget({before, surplus, limit: atOnce}));
      metrics.eventsSurplus(Math.min(gone, surplus));
      surplus = Math.max(0, surplus - gone);
      if (gone > 0) await tidy(partsAStep);
    }
  };

  const jobs: Job[] = [
    {everyMs: 400, what: 'writing the event log', run: flush},
    ...(engine.kind === 'own'
      ? [
          {
            everyMs: 2000,
            what: 'merging the index of the event log',
            run: async () => tidy(Infinity).catch(noteFailure),
            mayBeCutOff: true,
          } as const,
        ]
      : []),
    {everyMs: 600_000, what: 'removing old entries of the event log', run: sweep, mayBeCutOff: true},
  ];
  return {record: recorder.record, recordRefusal, leaveOutRefusal, jobs, write: recorder.flush, close, reportLost, noteFailure};
};

/** One line an hour: each change of held mail may meet the same full disk. */
const createFailureNote = (log: Base['log'], now: () => number) => {
  const isDue = createHourly(now);
  return (error: unknown): void => {
    if (isDue()) log.error({err: error}, 'entries of the event log could not be written; mail goes on without them');
  };
};

/** Readings of the log of this node at once, and of others: lists and traces read the same logs, and hundreds of watches are woken together. */
const readingsAtOnce = {own: 4, remote: 16};

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
  const turns = {own: createSemaphore(readingsAtOnce.own), remote: createSemaphore(readingsAtOnce.remote)};
  const source: MailSource = {name: log.name, after: async (...asked) => turns.own.run(async () => log.after(...asked))};
  const remote = (node: AskedNode): MailSource => {
    const {name, after} = remoteMailSource(node);
    return {
      name,
      async after(...asked) {
        if (isAway(name)) throw new Fault('node_unreachable', `node ${name} is away`);
        return turns.remote.run(async () => after(...asked));
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
