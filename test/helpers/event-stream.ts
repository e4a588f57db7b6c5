// Server-sent events of a node, as received by a client.
import {readFile} from 'node:fs/promises';
import type {IncomingHttpHeaders, IncomingMessage} from 'node:http';
import {request} from 'node:https';
import {type StreamEvent, streamEventSchema} from '../../shared/cluster-event.ts';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import type {TestNode} from './node.ts';

interface TestEvent {
  id: string;
  /** The name on the `event:` line. */
  name: string;
  data: StreamEvent;
}

export interface TestEventStream {
  headers: IncomingHttpHeaders;
  events: TestEvent[];
  /** Everything received so far. */
  text(): string;
  /** The id to go on with. */
  lastId(): string;
  /** Resolves with the node's message that it is subscribed to the other nodes. */
  listening(): Promise<string>;
  /** Resolves with the first event for which `isWanted` is true. */
  next(isWanted: (event: StreamEvent) => boolean): Promise<TestEvent>;
  isEnded(): boolean;
  /** Stops reading, so that events queue up in the node. */
  pause(): void;
  close(): void;
}

export const watchEvents = async (
  t: Owner,
  node: TestNode,
  {key = node.api_key, query = '', lastId}: {key?: string; query?: string; lastId?: string | undefined} = {},
): Promise<TestEventStream> => {
  const ca = await readFile(node.ca_file, 'utf8');
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {'X-API-Key': key, ...(lastId !== undefined && {'Last-Event-ID': lastId})};
    const sent = request(`${node.api_url}/api/v1/events${query}`, {ca, agent: false, headers}, resolve);
    sent.on('error', reject);
    t.teardown(async () => void sent.destroy());
    sent.end();
  });
  if (response.statusCode !== 200) throw new Error(`GET /events: ${response.statusCode}`);

  let text = '';
  let isEnded = false;
  const events: TestEvent[] = [];
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    const blocks = text.split('\n\n').slice(0, -1);
    const found = blocks.flatMap(eventIn);
    events.push(...found.slice(events.length));
  });
  response.on('close', () => {
    isEnded = true;
  });
  response.on('error', () => {});

  return {
    headers: response.headers,
    events,
    text: () => text,
    lastId: () => [...text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? '',
    listening: async () => eventually(() => /^: listening.*/m.exec(text)?.[0]),
    next: async isWanted => eventually(() => events.find(({data}) => isWanted(data))),
    isEnded: () => isEnded,
    pause: () => void response.pause(),
    close: () => void response.destroy(),
  };
};

const eventIn = (block: string): TestEvent[] => {
  const lineOf = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  const data = lineOf('data');
  return data === undefined
    ? []
    : [{id: lineOf('id') ?? '', name: lineOf('event') ?? '', data: streamEventSchema.parse(JSON.parse(data))}];
};
