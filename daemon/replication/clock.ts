// Hybrid logical clock (Kulkarni et al., 2014): wall time where it can be believed, a counter where it cannot, so that a
// later write always has the greater stamp, even on a node whose wall clock jumps back.

import {clockBelievedSeconds} from '../../shared/clock-limits.ts';
import type {StateStore} from '../services/ports.ts';
import type {Stamp} from '../services/records.ts';

const maxCounter = 0xffff;

export const formatStamp = (ms: number, counter: number, nodeNo: number): Stamp =>
  `${hex(ms, 12)}.${hex(counter, 4)}.${hex(nodeNo, 4)}`;

/** Milliseconds since 1970 of a stamp. */
export const stampMs = (stamp: Stamp): number => Number.parseInt(stamp.slice(0, 12), 16);

/** The number of the node that wrote it. */
export const stampNodeNo = (stamp: Stamp): number => Number.parseInt(stamp.slice(18), 16);

/** The stamp after `last`, not before wall time `nowMs`. */
export const nextStamp = (last: Stamp | undefined, nowMs: number, nodeNo: number): Stamp => {
  const lastMs = last === undefined ? -1 : stampMs(last);
  if (nowMs > lastMs || last === undefined) return formatStamp(nowMs, 0, nodeNo);

  const counter = Number.parseInt(last.slice(13, 17), 16) + 1;
  return counter > maxCounter ? formatStamp(lastMs + 1, 0, nodeNo) : formatStamp(lastMs, counter, nodeNo);
};

const hourMs = 3_600_000;

/** Stamps of other nodes move this node's clock up to this far ahead of its wall clock. Beyond, a clock is not ahead but wrong. */
const believedAheadMs = clockBelievedSeconds * 1000;

/** Writes of other nodes that are dated further ahead than this are left out. */
const acceptedAheadMs = believedAheadMs + hourMs;

/** Between the two: what this node writes is accepted by every node whose wall clock is at most half an hour behind its own. */
const writableAheadMs = believedAheadMs + hourMs / 2;

/** Whether nodes whose wall clocks say `nowMs` leave out what is dated `stamp`. */
export const isTooFarAhead = (stamp: Stamp, nowMs: number): boolean => stampMs(stamp) > nowMs + acceptedAheadMs;

/** Whether this node may date a write of its own `stamp`. */
export const mayWriteAt = (stamp: Stamp, nowMs: number): boolean => stampMs(stamp) <= nowMs + writableAheadMs;

/** The latest of stamps that came from elsewhere: what is written here from now on is later than that. Empty for none. */
const latestOf = (stamps: Stamp[], nowMs: number): Stamp => {
  const bound = formatStamp(nowMs + believedAheadMs, 0, 0);
  return stamps.filter(stamp => stamp < bound).reduce((a, b) => (a > b ? a : b), '');
};

/** `stamp`, or the one after the latest of `others` when that is not earlier: a write is later than what it is put upon. */
export const laterThan = (others: Stamp[], stamp: Stamp, nodeNo: number): Stamp => {
  const latest = others.toSorted().at(-1);
  return latest === undefined || latest < stamp ? stamp : nextStamp(latest, 0, nodeNo);
};

const clockName = 'clock';

/** Moves this node's stored clock on and reads it. */
export const tick = async (state: StateStore, nowMs: number, nodeNo: number): Promise<Stamp> => {
  const stamp = nextStamp(await state.read(clockName), nowMs, nodeNo);
  await state.write(clockName, stamp);
  return stamp;
};

/** Moves this node's stored clock to the latest of stamps that came from elsewhere, see `latestOf`. */
export const observe = async (state: StateStore, stamps: Stamp[], nowMs: number): Promise<void> => {
  const latest = latestOf(stamps, nowMs);
  const own = await state.read(clockName);
  if (latest !== '' && (own === undefined || own < latest)) await state.write(clockName, latest);
};

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
