// Sender of this node's changes to one peer, in order, starting after the last event that the peer has applied.
import {Fault} from '../../shared/fault.ts';
import {messages} from '../services/cluster/peer-protocol.ts';
import type {Replication} from '../services/cluster/replication-ports.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {PeerClient} from './peer-client.ts';

interface Needs {
  client: PeerClient;
  replication: Replication;
  /**
   * Called when the peer knows events of this node that the node itself does not know. Undefined for a peer that joined after
   * this node started: it has all events of this node from other nodes.
   */
  onGoneBack: (() => void) | undefined;
  onFailure(error: unknown): void;
  /** Called with the reason why the peer refuses all or part of a batch, or with undefined when it has taken the whole batch. */
  onAnswer(why: string | undefined): void;
}

/** The longest pause is short, so that changes reach a peer soon after it is back. */
const backoff = {firstMs: 50, mostMs: 1000};
const answerMs = 5000;
const gapPauseMs = 300;
const batch = {most: 500, maxChars: 256 * 1024};

export const startOutboxSender = (needs: Needs) => {
  const acknowledgement = createAcknowledgement();
  const batches = createBatches(needs, acknowledgement);
  let isStopped = false;
  let failures = 0;
  let isBusy = false;
  let isWoken = false;
  let timer: NodeJS.Timeout | undefined;

  /** Returns how many milliseconds to wait before the next attempt. */
  const afterFailure = (error: unknown): number => {
    failures += 1;
    batches.failed(error);
    if (!isStopped) needs.onFailure(error);
    if (!isStopped && isRefusal(error)) needs.onAnswer(error.detail);
    acknowledgement.giveUp();
    return Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);
  };

  const work = async (): Promise<void> => {
    if (isBusy || isStopped) return;
    isBusy = true;
    let pauseMs: number | undefined;
    try {
      do {
        isWoken = false;
        pauseMs = await batches.sendNext();
        failures = 0;
      } while ((pauseMs === 0 || (isWoken && pauseMs === undefined)) && !isStopped);
    } catch (error) {
      pauseMs = afterFailure(error);
    }
    isBusy = false;
    if (pauseMs !== undefined) arm(pauseMs);
    else if (isWoken) void work();
  };
  const arm = (ms: number) => {
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(() => void work(), ms).unref();
  };
  const wake = () => {
    isWoken = true;
    clearTimeout(timer);
    void work();
  };
  wake();

  return {
    /** Sends without further delay: there may be a new event, or the peer may be back. */
    wake,
    /** The peer reports the last event that it has applied; its position may have gone back. */
    reportedApplied(seq: number): void {
      // The answer to a batch under way is newer than this report. The first position has to come from such an answer.
      if (isBusy || seq === acknowledgement.seq) return;
      if (acknowledgement.seq !== undefined) acknowledgement.set(seq);
      wake();
    },
    /** The last event of this node that the peer has applied; undefined until the peer has reported it. */
    get acknowledged(): number | undefined {
      return acknowledgement.seq;
    },
    /** Resolves with true once the peer has applied event `seq`, with false when it cannot be reached or at the deadline. */
    async reached(seq: number, deadlineMs: number): Promise<boolean> {
      if (acknowledgement.isReached(seq)) return true;
      wake();
      return acknowledgement.waitFor(seq, deadlineMs);
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
      acknowledgement.giveUp();
    },
  };
};

/** Batches of events for one peer, made smaller while the line is slow. */
const createBatches = (
  {client, replication, onGoneBack, onAnswer}: Pick<Needs, 'client' | 'replication' | 'onGoneBack' | 'onAnswer'>,
  acknowledgement: Acknowledgement,
) => {
  let size = batch.most;
  return {
    /** Resolves with how many milliseconds to wait before the next batch, or with undefined when the peer has everything. */
    async sendNext(): Promise<number | undefined> {
      const after = acknowledgement.seq;
      const {floor, events} =
        after === undefined
          ? {...(await replication.batchAfter(0, {limit: 0, maxChars: 0})), events: []}
          : await replication.batchAfter(after, {limit: size, maxChars: batch.maxChars});
      if (after !== undefined && events.length === 0 && after >= floor) return undefined;
      if (events.length > 0) crashPoint('outbox-send.before');
      const {applied, left_out} = await client.ask(messages.events.answer, {
        ...messages.events.at,
        body: {floor, events},
        deadlineMs: answerMs,
      });
      if (events.length > 0) crashPoint('outbox-send.after');
      if (events.length > 0) onAnswer(left_out);
      if (after === undefined && onGoneBack && (await replication.checkFirstAcknowledgement(applied))) onGoneBack();
      acknowledgement.set(applied);
      size = Math.min(batch.most, Math.ceil(size * 1.1));
      // The peer has to fetch the events that the outbox no longer has.
      return applied < floor ? gapPauseMs : 0;
    },
    failed(error: unknown) {
      if (mayBeTooMuch(error)) size = Math.max(1, Math.floor(size / 2));
    },
  };
};

/** The peer has read the batch and refuses it, so sending it again changes nothing. */
const isRefusal = (error: unknown): error is Fault => error instanceof Fault && error.code === 'validation_failed';

/** A batch that was sent and not answered in time may be too big for the line. A peer that is down does not suggest that. */
const mayBeTooMuch = (error: unknown): boolean => !(error instanceof Fault && error.code === 'node_unreachable');

type Acknowledgement = ReturnType<typeof createAcknowledgement>;

interface Waiting {
  seq: number;
  settle(isReached: boolean): void;
}

const createAcknowledgement = () => {
  let acknowledged: number | undefined;
  const waiting = new Set<Waiting>();

  const isReached = (seq: number): boolean => acknowledged !== undefined && acknowledged >= seq;

  return {
    /** The number of the last event that the peer has applied; undefined until the peer has reported it. */
    get seq(): number | undefined {
      return acknowledged;
    },
    /** The peer reports its position, which may have gone back. */
    set(seq: number): void {
      acknowledged = seq;
      for (const one of waiting) if (isReached(one.seq)) one.settle(true);
    },
    isReached,
    /** Resolves with true once the peer has applied event `seq`, with false at the deadline or at `giveUp`. */
    async waitFor(seq: number, deadlineMs: number): Promise<boolean> {
      return new Promise(resolve => {
        const one: Waiting = {
          seq,
          settle(outcome) {
            clearTimeout(deadline);
            waiting.delete(one);
            resolve(outcome);
          },
        };
        const deadline = setTimeout(() => one.settle(false), deadlineMs);
        waiting.add(one);
      });
    },
    /** Answers everybody who waits with false. */
    giveUp(): void {
      for (const one of waiting) one.settle(false);
    },
  };
};
