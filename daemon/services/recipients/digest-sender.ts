// Sending of digests: one node sends those of a domain, about the mail of all nodes.

import {setTimeout as delay} from 'node:timers/promises';
import {ascending} from '../../../shared/collections.ts';
import type {Domain} from '../../../shared/domain.ts';
import {Fault} from '../../../shared/fault.ts';
import type {StoredDigest} from '../records.ts';
import {timeAt} from '../time-at.ts';
import type {Digest, DigestSource, RoundMemory, RoundReport} from './digest-model.ts';
import {createPace} from './digest-pace.ts';
import {createDigestRound, type RoundNeeds} from './digest-round.ts';
import {createSources} from './digest-sources.ts';
import {aheadMs, type DigestRound} from './digest-store.ts';
import {createDueTimes} from './due-time.ts';

export interface SenderNeeds extends Omit<RoundNeeds, 'places' | 'isStopping'> {
  /** Whether it is for this node to send the digests of a domain, as far as it knows which nodes are there. */
  isChosen(domainId: number): boolean;
}

export interface DigestSender {
  /** Begins to send what is due. A process that ends meanwhile sends the same again. */
  send(): Promise<void>;
  /** Sends what is in no digest yet to the recipients of a domain, now. Throws a Fault `conflict` when digests of it are being sent. */
  sendNow(domain: Domain): Promise<RoundReport>;
  /** The digest for a mailbox as it would be sent now, and the nodes whose mail is missing there. */
  preview(domain: Domain, mailbox: string): Promise<{digest: Digest; unreachable: string[]}>;
  /** Resolves when nothing is being sent. */
  idle(): Promise<void>;
  /** Ends with the mails that are under way, and resolves once it is known everywhere what became of them, or with the signal. */
  stop(signal: AbortSignal): Promise<void>;
}

/** To all backends: intake wants connections as well. */
const mailsAtOnce = 40;
const retriesMs = [5, 15, 30, 60].map(minutes => minutes * 60_000);
/** In partly reached clusters: until the one that has the round is asked again. */
const elsewhereMs = 30_000;
/** While it stops: another node may be starting again. */
const tellMs = 250;

/** The last round of a domain, and when it is tried next; never once it is over. */
interface Known {
  due_at: string;
  tries: number;
  nextMs: number;
  memory: RoundMemory;
}

export const createDigestSender = (needs: SenderNeeds): DigestSender => {
  const {store, domains, isChosen, now} = needs;
  const roundNow = ({id}: Domain): DigestRound => ({domain_id: id, due_at: timeAt(now())});
  const known = new Map<number, Known>();
  const running = createRunning();
  /** By domain, as it belongs to no round. */
  const unsettled = new Map<number, RoundMemory['unsettled']>();
  let isStopping = false;
  const round = createDigestRound({...needs, places: createPace({atMost: mailsAtOnce}), isStopping: () => isStopping});

  const newMemory = (domainId: number): RoundMemory => {
    const told = unsettled.get(domainId) ?? new Map();
    unsettled.set(domainId, told);
    return {served: new Set(), slow: 0, after: '', unsettled: told};
  };

  const sendDue = async (domain: Domain, due_at: string): Promise<RoundReport | undefined> => {
    const last = known.get(domain.id);
    const state = last?.due_at === due_at ? last : {due_at, tries: 0, nextMs: 0, memory: newMemory(domain.id)};
    let next = {tries: state.tries + 1, waitMs: retriesMs[state.tries] ?? retriesMs.at(-1) ?? 0};
    try {
      const {outcome, report} = await round(domain, {domain_id: domain.id, due_at}, state.memory);
      if (outcome === 'elsewhere') next = {tries: state.tries, waitMs: elsewhereMs};
      if (outcome === 'over') next = {tries: 0, waitMs: Number.POSITIVE_INFINITY};
      return report;
    } finally {
      known.set(domain.id, {...state, tries: next.tries, nextMs: now() + next.waitMs});
    }
  };

  const isDue = ({domain_id}: StoredDigest, due_at: string): boolean => {
    const last = known.get(domain_id);
    return last?.due_at !== due_at || now() >= last.nextMs;
  };

  const finish = async (signal: AbortSignal): Promise<void> => {
    await running.idle();
    // An error, as of the store, must not end the process before its other parts have stopped.
    while (!signal.aborted && (await tellRest(needs, known).catch(() => true))) await delay(tellMs);
  };

  return {
    async send() {
      const times = createDueTimes(now());
      for (const stored of await store.config.listDigests()) {
        const {domain_id, enabled_at} = stored;
        const domain = domains.findById(domain_id);
        if (!domain?.active || enabled_at === null || isStopping) continue;
        const daily = timeAt(times(stored));
        const last = known.get(domain_id);
        // Of those that were sent by hand since then, some may have to be tried again, by this node: the others do not know of them.
        const isByHand = last !== undefined && last.due_at > daily && last.due_at <= timeAt(now() + aheadMs);
        const due_at = isByHand ? last.due_at : daily;
        if (due_at < enabled_at || !isDue(stored, due_at) || !(isByHand || isChosen(domain_id))) continue;
        running.start(domain_id, async () => sendDue(domain, due_at))?.catch(needs.onError);
      }
    },
    async sendNow(domain) {
      const before = known.get(domain.id);
      const report = await running.start(domain.id, async () => sendDue(domain, roundNow(domain).due_at));
      if (report) return report;
      if (before) known.set(domain.id, before);
      else known.delete(domain.id);
      throw new Fault('conflict', `digests of ${domain.name} are being sent now; try again in a minute`);
    },
    preview: async (domain, mailbox) => previewOf(await needs.sources(), roundNow(domain), mailbox),
    idle: running.idle,
    async stop(signal) {
      isStopping = true;
      await Promise.race([finish(signal), new Promise(resolve => signal.addEventListener('abort', resolve))]);
    },
  };
};

/** Resolves with whether a node that was to be told what became of its mail did not answer. */
const tellRest = async ({nodeId, ...needs}: SenderNeeds, known: ReadonlyMap<number, Known>): Promise<boolean> => {
  const rest = [...known].filter(([, {memory}]) => memory.unsettled.size > 0);
  if (rest.length === 0) return false;
  const sources = await needs.sources();
  const rounds = rest.map(([domain_id, {due_at, memory}]) => ({round: {domain_id, due_at}, memory}));
  const told = await Promise.all(rounds.map(async one => createSources({nodeId, ...one}).tell(sources)));
  return told.includes(true);
};

/** What is being sent, by domain. */
const createRunning = () => {
  const running = new Map<number, Promise<unknown>>();
  return {
    /** Undefined while digests of the domain are being sent by this node. */
    start<T>(domainId: number, work: () => Promise<T>): Promise<T> | undefined {
      if (running.has(domainId)) return undefined;
      const result = work();
      const end = () => running.delete(domainId);
      running.set(domainId, result.then(end, end));
      return result;
    },
    idle: async () => void (await Promise.all(running.values())),
  };
};

const previewOf = async (sources: readonly DigestSource[], round: DigestRound, mailbox: string) => {
  const unreachable: string[] = [];
  const found = await Promise.all(
    sources.map(async source =>
      source.preview(round, mailbox).catch(error => {
        if (!(error instanceof Fault)) throw error;
        unreachable.push(source.nodeId);
        return [];
      }),
    ),
  );
  const mails = found.flat().toSorted((one, other) => ascending(one.arrived_at, other.arrived_at));
  return {digest: {mailbox, mails, others: 0, due_at: round.due_at, id: 'preview'}, unreachable};
};
