// Tells one peer what this node has changed, in order, from wherever the peer says that it is.

import {Fault} from '../../shared/fault.ts';
import {eventsAnswerSchema} from '../services/cluster/peer-protocol.ts';
import type {Replication} from '../services/cluster/replication-ports.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {PeerClient} from './peer-client.ts';

export interface OutboxSender {
  /** There may be something new, or the peer may be back: do not wait any longer. */
  wake(): void;
  /** The peer has applied up to here, as it says itself; it may have gone back. */
  reportedApplied(seq: number): void;
  /** How far the peer has applied this node's events; undefined before it has said so. */
  readonly acknowledged: number | undefined;
  /** Resolves with true once the peer has applied event `seq`, with false when it cannot be reached or at the deadline. */
  reached(seq: number, deadlineMs: number): Promise<boolean>;
  stop(): void;
}

interface Needs {
  client: PeerClient;
  replication: Replication;
  /**
   * The peer knows events of this node that the node itself does not. Undefined for a node that has only just joined: what it
   * knows it has from others.
   */
  onGoneBack: (() => void) | undefined;
  onFailure(error: unknown): void;
  /** Why the peer refuses what this node has changed, or some of it; undefined when it has taken a batch whole. */
  onAnswer(why: string | undefined): void;
}

/** Backing off from a peer that is away must not keep it waiting once it is back. */
const backoff = {firstMs: 50, mostMs: 1000};
const answerMs = 5000;
const gapPauseMs = 300;
const batch = {most: 500, maxChars: 256 * 1024};

export const startOutboxSender = ({client, replication, onGoneBack, onFailure, onAnswer}: Needs): OutboxSender => {
  let acknowledged: number | undefined;
  let isStopped = false;
  let failures = 0;
  let size = batch.most;
  let isBusy = false;
  let isWoken = false;
  let timer: NodeJS.Timeout | undefined;
  let waiting: {seq: number; settle: (isReached: boolean) => void}[] = [];

  const settleWaiting = (isFailed: boolean) => {
    for (const one of waiting)
      if (acknowledged !== undefined && acknowledged >= one.seq) one.settle(true);
      else if (isFailed) one.settle(false);
  };

  /** Resolves with how long to wait before the next batch, or undefined when the peer has everything. */
  const sendBatch = async (): Promise<number | undefined> => {
    const after = acknowledged;
    const {floor, events} =
      after === undefined
        ? {...(await replication.batchAfter(0, {limit: 0, maxChars: 0})), events: []}
        : await replication.batchAfter(after, {limit: size, maxChars: batch.maxChars});
    if (after !== undefined && events.length === 0 && after >= floor) return undefined;
    if (events.length > 0) crashPoint('outbox-send.before');
    const {applied, left_out} = await client.ask(eventsAnswerSchema, {
      method: 'POST',
      path: 'events',
      body: {floor, events},
      deadlineMs: answerMs,
    });
    if (events.length > 0) crashPoint('outbox-send.after');
    if (events.length > 0) onAnswer(left_out);
    if (after === undefined && onGoneBack && (await replication.checkFirstAcknowledgement(applied))) onGoneBack();
    acknowledged = applied;
    size = Math.min(batch.most, Math.ceil(size * 1.1));
    // What is gone here the peer has to fetch by itself.
    return applied < floor ? gapPauseMs : 0;
  };

  /** Settles what waits; returns how long to wait before the next attempt. */
  const afterFailure = (error: unknown): number => {
    failures += 1;
    if (mayBeTooMuch(error)) size = Math.max(1, Math.floor(size / 2));
    if (!isStopped) onFailure(error);
    if (!isStopped && isRefusal(error)) onAnswer(error.detail);
    settleWaiting(true);
    return Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);
  };

  const work = async (): Promise<void> => {
    if (isBusy || isStopped) return;
    isBusy = true;
    let pauseMs: number | undefined;
    try {
      do {
        isWoken = false;
        pauseMs = await sendBatch();
        failures = 0;
        settleWaiting(false);
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
    wake,
    reportedApplied(seq) {
      // While a batch is under way its own answer is newer; before the first one nothing else will do.
      if (isBusy || seq === acknowledged) return;
      if (acknowledged !== undefined) {
        acknowledged = seq;
        settleWaiting(false);
      }
      wake();
    },
    get acknowledged() {
      return acknowledged;
    },
    async reached(seq, deadlineMs) {
      if (acknowledged !== undefined && acknowledged >= seq) return true;
      wake();
      return new Promise(resolve => {
        const one = {
          seq,
          settle(isReached: boolean) {
            clearTimeout(deadline);
            waiting = waiting.filter(other => other !== one);
            resolve(isReached);
          },
        };
        const deadline = setTimeout(() => one.settle(false), deadlineMs);
        waiting.push(one);
      });
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
      settleWaiting(true);
    },
  };
};

/** The peer has read the batch and does not take it: sending it again changes nothing. */
const isRefusal = (error: unknown): error is Fault => error instanceof Fault && error.code === 'validation_failed';

/** A batch that went out and was not answered in time may be too much for the line; a peer that is away says nothing of that. */
const mayBeTooMuch = (error: unknown): boolean => !(error instanceof Fault && error.code === 'node_unreachable');
