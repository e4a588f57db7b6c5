// Reader of held mail that is new since the last reading. The clocks of nodes differ, a list may lack a node, and events are not
// repeated, so the time of the newest mail alone does not decide.
import type {HeldMail} from '../../shared/held-mail.ts';
import type {Client, Query} from '../client/client.ts';
import {CliError, exitCodes} from '../errors.ts';
import {mailId} from './held-mail-columns.ts';
import {type HeldMailPage, heldMailPages} from './held-mail-pages.ts';

interface NewMail {
  /** The oldest first. */
  mails: HeldMail[];
  /** Their mail is missing; it is read once they answer. */
  unreachableNodes: string[];
}

interface HeldMailReader {
  /** The newest `count` of the matching mails. All others that are held now count as read. */
  first(count: number): Promise<NewMail>;
  /** The matching mails that were not read before. After a rejection with a CliError the next call reads them. */
  next(): Promise<NewMail>;
  /** An event announced this mail: it is in the list now, unless it does not match. */
  expect(mail: HeldMail): void;
  /** Events may have been missed: the next reading goes further back. */
  missSomething(): void;
}

/** With a larger difference between the clocks of nodes mail is missed. */
const clockMarginMs = 60_000;
/** Enough that no mail is shown twice. */
const keptIds = 100_000;

export const createHeldMailReader = (
  client: Pick<Client, 'quarantine'>,
  {query, signal}: {query: Query; signal: AbortSignal},
): HeldMailReader => {
  const known = createKnownMails();
  const lookBack = createLookBack();
  let newest: string | undefined;

  const markRead = (mail: HeldMail): void => {
    known.markRead(mail);
    newest = later(newest, mail.arrived_at);
  };
  const readSince: ReadSince = (since, of = query) =>
    readNew(heldMailPages(client, {...of, since: later(since, of.since?.toString())}, signal), known.isNew);
  const missing = createMissingNodes(readSince, query);

  return {
    async first(count) {
      const {data, unreachableNodes} = await client.quarantine.list({...query, limit: Math.max(1, count)}, {signal});
      known.markHeldBefore(data);
      newest = data[0]?.arrived_at;
      missing.add(unreachableNodes, marginBefore(newest ?? new Date().toISOString()));
      if (newest !== undefined) {
        const around = await readSince(marginBefore(newest));
        const latest = newest;
        known.markHeldBefore(around.mails.filter(mail => mail.arrived_at <= latest));
        if (around.mails.some(known.isNew)) lookBack.missSomething();
      }
      known.forgetExpected();
      const mails = data.slice(0, count).reverse();
      mails.forEach(markRead);
      return {mails, unreachableNodes};
    },

    async next() {
      const {since, undo} = lookBack.take(newest);
      try {
        const {mails, unreachableNodes} = await readSince(since);
        const late = await missing.read(unreachableNodes);
        missing.add(unreachableNodes, since);
        const found = new Map([...mails, ...late].map(mail => [mailId(mail), mail]));
        const sorted = [...found.values()].sort((a, b) => a.arrived_at.localeCompare(b.arrived_at));
        sorted.forEach(markRead);
        known.forgetExpected();
        return {mails: sorted, unreachableNodes};
      } catch (error) {
        undo();
        throw error;
      }
    },

    expect(mail) {
      if (known.isRead(mail)) return;
      known.expect(mail);
      lookBack.expect(mail.arrived_at);
    },
    missSomething: lookBack.missSomething,
  };
};

const readNew = async (pages: AsyncIterable<HeldMailPage>, isNew: (mail: HeldMail) => boolean): Promise<NewMail> => {
  const found: NewMail = {mails: [], unreachableNodes: []};
  for await (const {mails, unreachableNodes} of pages) {
    found.mails.push(...mails.filter(isNew));
    found.unreachableNodes.push(...unreachableNodes.filter(node => !found.unreachableNodes.includes(node)));
  }
  return found;
};

/** Start of the next reading: the oldest mail that events announced, or earlier when events may have been missed. */
const createLookBack = () => {
  let expectedSince: string | undefined;
  let mayMiss = false;
  const missSomething = (): void => {
    mayMiss = true;
  };
  return {
    missSomething,
    expect: (arrivedAt: string): void => {
      if (Number.isNaN(Date.parse(arrivedAt))) mayMiss = true;
      else expectedSince = earlier(expectedSince, arrivedAt);
    },
    /** For one reading; `undo` when that has failed. Undefined reads everything. */
    take: (newest: string | undefined): {since: string | undefined; undo(): void} => {
      const before = expectedSince;
      const since = before === undefined || mayMiss ? newest && earlier(marginBefore(newest), before) : before;
      expectedSince = undefined;
      mayMiss = false;
      return {
        since,
        undo: () => {
          expectedSince = earlier(expectedSince, before);
          missSomething();
        },
      };
    },
  };
};

/** By their ids. */
const createKnownMails = () => {
  const read = new Set<string>();
  const heldBefore = new Set<string>();
  /** Announced before the first reading: they arrived after the watch began. */
  const expected = new Set<string>();
  return {
    isRead: (mail: HeldMail): boolean => read.has(mailId(mail)),
    isNew: (mail: HeldMail): boolean => !read.has(mailId(mail)) && !heldBefore.has(mailId(mail)),
    markHeldBefore: (mails: readonly HeldMail[]): void => {
      for (const id of mails.map(mailId)) if (!expected.has(id)) heldBefore.add(id);
    },
    markRead: (mail: HeldMail): void => {
      read.add(mailId(mail));
      if (read.size > keptIds) read.delete(read.keys().next().value ?? '');
    },
    expect: (mail: HeldMail): void => {
      expected.add(mailId(mail));
      heldBefore.delete(mailId(mail));
    },
    forgetExpected: (): void => expected.clear(),
  };
};

type ReadSince = (since: string | undefined, of?: Query) => Promise<NewMail>;

/** Nodes that did not answer, with the time from when on their mail is missing. */
const createMissingNodes = (readSince: ReadSince, query: Query) => {
  const missing = new Map<string, string | undefined>();
  return {
    add: (nodes: readonly string[], since: string | undefined): void => {
      for (const node of nodes) if (!missing.has(node)) missing.set(node, since);
    },
    /** The mail of those that now answer. */
    read: async (unreachableNodes: readonly string[]): Promise<HeldMail[]> => {
      const mails: HeldMail[] = [];
      for (const [node, since] of missing) {
        if (unreachableNodes.includes(node)) continue;
        const found = await readSince(since, {...query, node}).catch(error => {
          // It has been removed from the cluster.
          if (error instanceof CliError && error.exitCode === exitCodes.notFound) return {mails: [], unreachableNodes: []};
          throw error;
        });
        mails.push(...found.mails);
        if (found.unreachableNodes.length === 0) missing.delete(node);
      }
      return mails;
    },
  };
};

const marginBefore = (timestamp: string | undefined): string | undefined => {
  const ms = Date.parse(timestamp ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms - clockMarginMs).toISOString();
};

const later = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one;

const earlier = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one;
