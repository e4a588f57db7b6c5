// Held mails by number and an API that lists them, for tests of the list without a node.

import type {Client} from '../../../cli/client/client.ts';
import type {Answer, Request} from '../../../cli/client/transport.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {fakeClient} from '../cli/fake-client.ts';

const newest = Date.parse('2026-03-01T12:00:00.000Z');

/** Number 0 is the oldest; each later mail arrived one second after the one before. */
export const heldMail = (number: number, change: Partial<HeldMail> = {}): HeldMail => ({
  node_id: 'mx1',
  queue_id: `mail${String(number).padStart(6, '0')}`,
  sender: `s${number % 7}@sender.example`,
  from: [`f${number % 5}@author.example`],
  recipients: ['a@example.com'],
  subject: `mail ${number}`,
  score: 6 + (number % 90) / 10,
  symbols: ['X'],
  reason: 'spam',
  size_bytes: 1000 + (number % 13),
  arrived_at: new Date(newest - 1_000_000_000 + number * 1000).toISOString(),
  release_requested: false,
  ...change,
});

/** From oldest to newest. */
export const heldMails = (count: number, from = 0): HeldMail[] => Array.from({length: count}, (_, at) => heldMail(from + at));

export interface MailApi extends Pick<Client, 'quarantine'> {
  /** Any order; listed newest first. */
  mails: HeldMail[];
  unreachableNodes: string[];
  /** Received queries, oldest first. */
  asked: NonNullable<Request['query']>[];
  /** Requests that have not been answered yet. */
  underWay: number;
  /** While set, each request is rejected with this error. */
  failure: Error | undefined;
}

/** The list of the API with since, until, limit and offset. */
export const createMailApi = (mails: HeldMail[]): MailApi => {
  const {quarantine} = fakeClient({
    send: async <T>({query = {}}: Request): Promise<Answer<T>> => {
      api.asked.push(query);
      api.underWay += 1;
      await new Promise(resolve => setImmediate(resolve));
      api.underWay -= 1;
      if (api.failure) throw api.failure;
      const {limit = 100, offset = 0, since, until} = query;
      const matching = api.mails
        .filter(({arrived_at: at}) => (since === undefined || at >= String(since)) && (until === undefined || at < String(until)))
        .sort((a, b) => (a.arrived_at < b.arrived_at ? 1 : a.arrived_at > b.arrived_at ? -1 : a.queue_id < b.queue_id ? -1 : 1));
      return {
        data: matching.slice(Number(offset), Number(offset) + Number(limit)) as T,
        etag: undefined,
        totalCount: matching.length,
        unreachableNodes: api.unreachableNodes,
      };
    },
  });
  const api: MailApi = {mails, unreachableNodes: [], asked: [], underWay: 0, failure: undefined, quarantine};
  return api;
};
