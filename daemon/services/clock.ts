// Hybrid logical clock (Kulkarni et al., 2014): wall time where it can be believed, a counter where it cannot, so that a
// later write always has the greater stamp, even on a node whose wall clock jumps back.

import type {Stamp} from '../store/config-record.ts';

const maxCounter = 0xffff;

export const formatStamp = (ms: number, counter: number, nodeNo: number): Stamp =>
  `${hex(ms, 12)}.${hex(counter, 4)}.${hex(nodeNo, 4)}`;

/** Milliseconds since 1970 of a stamp. */
export const stampMs = (stamp: Stamp): number => Number.parseInt(stamp.slice(0, 12), 16);

/** The stamp after `last`, not before wall time `nowMs`. */
export const nextStamp = (last: Stamp | undefined, nowMs: number, nodeNo: number): Stamp => {
  const lastMs = last === undefined ? -1 : stampMs(last);
  if (nowMs > lastMs || last === undefined) return formatStamp(nowMs, 0, nodeNo);

  const counter = Number.parseInt(last.slice(13, 17), 16) + 1;
  return counter > maxCounter ? formatStamp(lastMs + 1, 0, nodeNo) : formatStamp(lastMs, counter, nodeNo);
};

/** Beyond this, a clock is not ahead but wrong. */
const believedAheadMs = 24 * 3600 * 1000;

/**
 * The latest of stamps that came from elsewhere: what is written here from now on is later than that. One of a clock that is wrong
 * by years moves nothing; what it was put on is written over with a later one all the same, see `laterThan`. Empty for none.
 */
export const latestOf = (stamps: Stamp[], nowMs: number): Stamp => {
  const bound = formatStamp(nowMs + believedAheadMs, 0, 0);
  return stamps.filter(stamp => stamp < bound).reduce((a, b) => (a > b ? a : b), '');
};

/** `stamp`, or the one after the latest of `others` when that is not earlier: a write is later than what it is put upon. */
export const laterThan = (others: Stamp[], stamp: Stamp, nodeNo: number): Stamp => {
  const latest = others.toSorted().at(-1);
  return latest === undefined || latest < stamp ? stamp : nextStamp(latest, 0, nodeNo);
};

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
