// Listener for the hold events of other nodes, active while this node has a subscriber.
import type {Readable} from 'node:stream';
import {StringDecoder} from 'node:string_decoder';
import {setTimeout as delay} from 'node:timers/promises';
import type {BusEvent} from '../services/events/event-bus.ts';
import {holdEventSchema} from '../services/quarantine/hold-questions.ts';
import type {PeerClient} from './peer-client.ts';
import type {Peers} from './peers.ts';

interface Needs {
  peers: Peers;
  /** The nodes share their held mail: each acts on that of all. */
  sharesMail: boolean;
  onFailure(nodeId: string, error: unknown): void;
}

const answerMs = 2000;
/** The other end pings more often than this. */
const silenceMs = 15_000;
const backoff = {firstMs: 250, mostMs: 5000};
const maxLineChars = 4 * 1024 * 1024;

export const createHoldEventListener = ({peers, sharesMail, onFailure}: Needs) => {
  const subscriptions = new Map<number, Subscription>();
  let onEach: ((event: BusEvent) => void) | undefined;

  const open = (nodeNo: number, client: PeerClient, onEvent: (event: BusEvent) => void): Subscription => {
    const subscription = subscribe({client, sharesMail, onEvent, onFailure: error => onFailure(client.nodeId, error)});
    subscriptions.set(nodeNo, subscription);
    return subscription;
  };
  const close = (nodeNo: number) => {
    subscriptions.get(nodeNo)?.stop();
    subscriptions.delete(nodeNo);
  };
  peers.follow(({nodeNo, client}) => {
    if (onEach) open(nodeNo, client, onEach);
    return () => close(nodeNo);
  });

  return {
    /** Subscribes at all nodes, including later ones. Allows one listener at a time. `silent`: nodes that do not answer the first request. */
    listen(onEvent: (event: BusEvent) => void): {silent: Promise<string[]>; stop(): void} {
      onEach = onEvent;
      const opened = peers.list().map(({nodeNo, nodeId, client}) => ({nodeId, subscription: open(nodeNo, client, onEvent)}));
      const silent = opened.map(async ({nodeId, subscription}) => ((await subscription.hasAnswered) ? [] : [nodeId]));
      return {
        silent: Promise.all(silent).then(ids => ids.flat().sort()),
        stop() {
          onEach = undefined;
          for (const nodeNo of [...subscriptions.keys()]) close(nodeNo);
        },
      };
    },
  };
};

interface Subscription {
  /** Whether the node answered the first request. */
  hasAnswered: Promise<boolean>;
  stop(): void;
}

interface SubscriptionNeeds extends Pick<Needs, 'sharesMail'> {
  client: PeerClient;
  onEvent(event: BusEvent): void;
  onFailure(error: unknown): void;
}

/** Repeats the request whenever the answer breaks off, until stopped. */
const subscribe = ({client, sharesMail, onEvent, onFailure}: SubscriptionNeeds): Subscription => {
  const stopped = new AbortController();
  let current: Readable | undefined;
  let failures = 0;

  const listenOnce = async (onAnswer: (hasAnswered: boolean) => void) => {
    try {
      const {stream} = await client.stream({method: 'GET', path: 'hold-events', deadlineMs: answerMs});
      current = stream;
      if (stopped.signal.aborted) stream.destroy();
      onAnswer(true);
      failures = 0;
      for await (const line of linesOf(stream)) onEvent(eventIn(line, client.nodeId, sharesMail));
    } catch (error) {
      failures += 1;
      if (!stopped.signal.aborted) onFailure(error);
    } finally {
      onAnswer(false);
    }
  };
  const hasAnswered = new Promise<boolean>(resolve => {
    const run = async () => {
      while (!stopped.signal.aborted) {
        await listenOnce(resolve);
        const pauseMs = Math.min(backoff.mostMs, backoff.firstMs * 2 ** failures) * (0.5 + Math.random() / 2);
        await delay(pauseMs, undefined, {signal: stopped.signal, ref: false}).catch(() => {});
      }
    };
    void run();
  });

  return {
    hasAnswered,
    stop() {
      stopped.abort();
      current?.destroy();
    },
  };
};

/** Accepts only events about mail of the node that sent them, and about what it did with the mail of others where all share it. */
const eventIn = (line: string, nodeId: string, sharesMail: boolean): BusEvent => {
  const {id, domain_id, is_logged, event} = holdEventSchema.parse(JSON.parse(line));
  const isOwn = event.node_id === nodeId || (sharesMail && event.type !== 'held');
  if (!isOwn || !id.startsWith(`${nodeId}-`)) throw new Error(`${nodeId} speaks for another node`);
  return {id, from: nodeId, isLogged: is_logged, domainId: domain_id, event};
};

/** Non-empty lines. Throws when nothing, not even a ping, arrives for too long. */
async function* linesOf(stream: Readable): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let silence: NodeJS.Timeout | undefined;
  const arm = () => {
    clearTimeout(silence);
    silence = setTimeout(() => stream.destroy(new Error('the node has fallen silent')), silenceMs).unref();
  };
  try {
    arm();
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      arm();
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > maxLineChars) throw new Error('a line is too long');
      yield* lines.filter(line => line !== '');
    }
  } finally {
    clearTimeout(silence);
  }
}
