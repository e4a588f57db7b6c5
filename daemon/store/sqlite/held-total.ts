// How many held mails match. What was counted once is not counted again: it is moved on by what has changed since, which the
// database remembers (see list-migration.ts), and kept for round bounds, so that another `since` counts a part of an hour only.

import type {Db} from './database.ts';
import {isCounted, totalOf} from './held-count.ts';
import {countMatching, type HeldSearch, heldCondition, likenessTo} from './held-search.ts';
import {query} from './query.ts';

export interface HeldTotals {
  of(search: HeldSearch): Promise<number>;
}

interface Membership {
  count: number;
  /** The last change that is in it. */
  seq: number;
}

const maxStandings = 2000;
const hourMs = 3_600_000;

export const createHeldTotals = (read: Db): HeldTotals => {
  /** By search, the one asked for last at the end. */
  const standings = new Map<string, Promise<Membership>>();

  const keep = (key: string, membership: Promise<Membership>): void => {
    standings.delete(key);
    standings.set(key, membership);
    membership.catch(() => standings.get(key) === membership && standings.delete(key));
    for (const oldest of standings.keys())
      if (standings.size > maxStandings) standings.delete(oldest);
      else return;
  };

  const standingCount = async (search: HeldSearch): Promise<number> => {
    const key = keyOf(search);
    const known = standings.get(key);
    const moved = known && (await moveOn(read, search, await known));
    const membership = moved ? Promise.resolve(moved) : countAnew(read, search);
    keep(key, membership);
    return (await membership).count;
  };

  return {
    async of(search) {
      if (isCounted(search.filter)) {
        const total = totalOf(search.filter, search.reach);
        const [row] = await query<{total: number}>(read, total.sql, total.bindings);
        return row?.total ?? 0;
      }
      // Few, by what they are found with.
      if (search.candidates !== undefined) return countMatching(read, search);
      const {round, edges} = partsOf(search);
      const counts = await Promise.all([standingCount(round), ...edges.map(async edge => countMatching(read, edge))]);
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
};

const keyOf = ({filter, reach}: HeldSearch): string =>
  JSON.stringify([
    reach,
    Object.entries(filter)
      .filter(([, value]) => value !== undefined)
      .sort(),
  ]);

/** One statement, so that the last change is that of the moment of the count. */
const countAnew = async (read: Db, search: HeldSearch): Promise<Membership> => {
  const {sql, bindings} = heldCondition(search);
  const [row] = await query<Membership>(
    read,
    `SELECT count(*) AS count, (SELECT coalesce(max(seq), 0) FROM held_change) AS seq FROM held_mail WHERE ${sql}`,
    bindings,
  );
  return row ?? {count: 0, seq: 0};
};

/** Undefined when what has changed since does not say how many match now. */
const moveOn = async (read: Db, search: HeldSearch, {count, seq}: Membership): Promise<Membership | undefined> => {
  const {sql, bindings} = likenessTo(search);
  const [row] = await query<{first: number | null; last: number; resets: number; moved: number | null}>(
    read,
    `
        SELECT min(seq) AS first, max(seq) AS last, count(*) FILTER (WHERE change = 0) AS resets, (
          SELECT sum(change) FROM held_change JOIN held_mail ON held_mail.queue_id = held_change.queue_id WHERE seq > ? AND ${sql}
        ) AS moved
        FROM held_change WHERE seq > ?`,
    [seq, ...bindings, seq],
  );
  if (row?.first === undefined || row.first === null) return {count, seq};
  if (row.first !== seq + 1 || row.resets > 0) return undefined;
  return {count: count + (row.moved ?? 0), seq: row.last};
};

/** The search with round bounds, and what lies between those and its own. Together they match what it matches, each mail once. */
const partsOf = (search: HeldSearch): {round: HeldSearch; edges: HeldSearch[]} => {
  const edges: HeldSearch[] = [];
  const narrowed = (part: HeldSearch, filter: Partial<HeldSearch['filter']>): HeldSearch => ({
    ...part,
    filter: {...part.filter, ...filter},
  });

  const {since, until, min_score: min, max_score: max} = search.filter;
  let round = search;
  const [firstHour, lastHour] = [since && roundHour(since, Math.ceil), until && roundHour(until, Math.floor)];
  if (!(firstHour && lastHour && firstHour >= lastHour)) {
    if (firstHour && firstHour !== since) {
      edges.push(narrowed(search, {until: firstHour}));
      round = narrowed(round, {since: firstHour});
    }
    if (lastHour && lastHour !== until) {
      edges.push(narrowed(search, {since: lastHour}));
      round = narrowed(round, {until: lastHour});
    }
  }
  const [lowest, highest] = [min && Math.ceil(min * 10) / 10, max && Math.floor(max * 10) / 10];
  if (lowest !== undefined && highest !== undefined && lowest > highest) return {round, edges};
  const timely = round;
  if (lowest !== undefined && lowest > (min ?? lowest)) {
    edges.push({...timely, belowScore: lowest});
    round = narrowed(round, {min_score: lowest});
  }
  if (highest !== undefined && highest < (max ?? highest)) {
    edges.push({...timely, aboveScore: highest});
    round = narrowed(round, {max_score: highest});
  }
  return {round, edges};
};

/** Undefined where such a time cannot be written. */
const roundHour = (time: string, toWhole: (hours: number) => number): string | undefined => {
  const rounded = new Date(toWhole(Date.parse(time) / hourMs) * hourMs);
  return Number.isNaN(rounded.getTime()) || rounded.toISOString().length !== time.length ? undefined : rounded.toISOString();
};
