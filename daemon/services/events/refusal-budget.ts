// Share of the event log that refusals before the content of a mail may take. They cost a client nothing: without a bound, those of a day
// push out what became of real mail in a month. The half of it is for clients with few refusals, so that one cannot take all.

import {clientNetwork} from '../../../shared/host-port.ts';

interface Needs {
  /** Of the log: the most entries, and the days that it is kept. */
  limits(): {max_rows: number; keep_days: number};
  now: () => number;
}

export interface RefusalBudget {
  /** Whether a refusal of this client may become an entry. */
  take(clientIp: string): boolean;
}

const dayMs = 86_400_000;
/** Each for all clients, and for one that may have of the half for others. */
const second = {ms: 1000, most: 50, few: 5};
const hour = {ms: 3_600_000, most: Number.POSITIVE_INFINITY, few: 20};
/** Of the log, in as many days as it is kept. */
const share = 1 / 4;
/** That may come at once after a quiet time. */
const mostAtOnce = 20_000;

export const createRefusalBudget = ({limits, now}: Needs): RefusalBudget => {
  const periods = [createPeriod(second), createPeriod(hour)];
  const bucketFor = createBucket(limits);
  const forAll = bucketFor(now());
  const forOthers = bucketFor(now());
  return {
    take(clientIp) {
      const at = now();
      const client = clientNetwork(clientIp);
      for (const period of periods) period.begin(at);
      const isOther = periods.every(period => period.hasFew(client));
      if (!periods.every(period => period.hasRoom(isOther))) return false;
      if (!(forAll.take(at) || (isOther && forOthers.take(at)))) return false;
      for (const period of periods) period.count(client);
      return true;
    },
  };
};

/** Counts entries by client: no more clients than entries. */
const createPeriod = ({ms, most, few}: typeof second) => {
  const countOf = new Map<string, number>();
  let number = 0;
  let total = 0;
  return {
    begin(at: number): void {
      if (Math.floor(at / ms) === number) return;
      number = Math.floor(at / ms);
      total = 0;
      countOf.clear();
    },
    hasFew: (client: string): boolean => (countOf.get(client) ?? 0) < few,
    hasRoom: (isOther: boolean): boolean => total < (isOther ? most : most / 2),
    count(client: string): void {
      total += 1;
      countOf.set(client, (countOf.get(client) ?? 0) + 1);
    },
  };
};

/** Half of the share: full at first, and filled again at a steady rate. */
const createBucket = (limits: Needs['limits']) => (start: number) => {
  let filledAt = start;
  let left = Number.POSITIVE_INFINITY;
  return {
    take(at: number): boolean {
      const {max_rows, keep_days} = limits();
      const whole = (max_rows * share) / 2;
      // The clock may be set back.
      const gained = (Math.max(0, at - filledAt) * whole) / (keep_days * dayMs);
      filledAt = at;
      left = Math.min(left + gained, whole, mostAtOnce / 2);
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
};
