// Which held mail is new since it was last asked for. The clocks of nodes differ, a list may lack a node, and events are not
// repeated, so that the time of the newest mail alone does not say it.
import type {HeldMail} from '../../shared/held-mail.ts';
import type {Client, Query} from '../client/client.ts';
import {CliError, exitCodes} from '../errors.ts';
import {heldMailPages} from './held-mail-pages.ts';
import {mailId} from './mail-id.ts';

export interface NewMail {
  /** The oldest first. */
  mails: HeldMail[];
  /** Whose mail is missing; it is asked for once they answer. */
  unreachableNodes: string[];
}

export interface HeldMailReader {
  /** The newest `count` of all that match. What else is held now is not new any more. */
  first(count: number): Promise<NewMail>;
  /** What matches and has not been read before. Rejects with a CliError, and the next call then reads it. */
  next(): Promise<NewMail>;
  /** The list has this mail now, unless it does not match. */
  expect(mail: HeldMail): void;
  /** Mail may have arrived that nobody told of: the next reading looks further back. */
  missSomething(): void;
}

/** How far clocks of nodes may lie apart before mail is missed. */
const clockMarginMs = 60_000;
/** Long enough back that nothing is shown twice. */
const keptIds = 100_000;

export const createHeldMailReader = (
  client: Pick<Client, 'quarantine'>,
  {query, signal}: {query: Query; signal: AbortSignal},
): HeldMailReader => {
  const read = new Set<string>();
  const heldBefore = new Set<string>();
  /** Told of before the first reading: they arrived while this was watched. */
  const expected = new Set<string>();
  /** Nodes that did not answer, with the time from when on their mail is missing. */
  const missing = new Map<string, string | undefined>();
  let newest: string | undefined;
  let expectedSince: string | undefined;
  let mayMiss = false;

  const isNew = (mail: HeldMail): boolean => !read.has(mailId(mail)) && !heldBefore.has(mailId(mail));
  const markHeldBefore = (mails: readonly HeldMail[]): void => {
    for (const id of mails.map(mailId)) if (!expected.has(id)) heldBefore.add(id);
  };
  const markRead = (mail: HeldMail): void => {
    read.add(mailId(mail));
    if (read.size > keptIds) read.delete(read.keys().next().value ?? '');
    newest = later(newest, mail.arrived_at);
  };
  const readSince = async (since: string | undefined, of: Query = query): Promise<NewMail> => {
    const asked = {...of, since: later(since, of.since?.toString())};
    const found: NewMail = {mails: [], unreachableNodes: []};
    for await (const {mails, unreachableNodes} of heldMailPages(client, asked, signal)) {
      found.mails.push(...mails.filter(isNew));
      found.unreachableNodes.push(...unreachableNodes.filter(node => !found.unreachableNodes.includes(node)));
    }
    return found;
  };
  /** Of nodes that were away and now answer. */
  const readMissing = async (unreachableNodes: readonly string[]): Promise<HeldMail[]> => {
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
  };
  const remember = (unreachableNodes: readonly string[], since: string | undefined): void => {
    for (const node of unreachableNodes) if (!missing.has(node)) missing.set(node, since);
  };

  return {
    async first(count) {
      const {data, unreachableNodes} = await client.quarantine.list({...query, limit: Math.max(1, count)}, {signal});
      markHeldBefore(data);
      newest = data[0]?.arrived_at;
      remember(unreachableNodes, marginBefore(newest ?? new Date().toISOString()));
      if (newest !== undefined) {
        const around = await readSince(marginBefore(newest));
        const latest = newest;
        markHeldBefore(around.mails.filter(mail => mail.arrived_at <= latest));
        mayMiss = around.mails.some(isNew);
      }
      expected.clear();
      const mails = data.slice(0, count).reverse();
      mails.forEach(markRead);
      return {mails, unreachableNodes};
    },

    async next() {
      const before = {expectedSince, mayMiss};
      const since =
        expectedSince === undefined || mayMiss ? newest && earlier(marginBefore(newest), expectedSince) : expectedSince;
      expectedSince = undefined;
      mayMiss = false;
      try {
        const {mails, unreachableNodes} = await readSince(since);
        const late = await readMissing(unreachableNodes);
        remember(unreachableNodes, since);
        const found = new Map([...mails, ...late].map(mail => [mailId(mail), mail]));
        const sorted = [...found.values()].sort((a, b) => a.arrived_at.localeCompare(b.arrived_at));
        sorted.forEach(markRead);
        expected.clear();
        return {mails: sorted, unreachableNodes};
      } catch (error) {
        expectedSince = earlier(expectedSince, before.expectedSince);
        mayMiss = true;
        throw error;
      }
    },

    expect(mail) {
      if (read.has(mailId(mail))) return;
      expected.add(mailId(mail));
      heldBefore.delete(mailId(mail));
      if (Number.isNaN(Date.parse(mail.arrived_at))) mayMiss = true;
      else expectedSince = earlier(expectedSince, mail.arrived_at);
    },
    missSomething: () => {
      mayMiss = true;
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
