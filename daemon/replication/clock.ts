// Hybrid logical clock (Kulkarni et al., 2014): it uses wall time while that can be trusted and a counter otherwise, so a later
// write always has the greater stamp, even on a node whose wall clock jumps back.

import {clockBelievedSeconds} from '../../shared/clock-limits.ts';
import type {StateStore} from '../services/ports.ts';
import {type ConfigRecord, type Stamp, stampMs} from '../services/records.ts';

const maxCounter = 0xffff;

export const formatStamp = (ms: number, counter: number, nodeNo: number): Stamp =>
  `${hex(ms, 12)}.${hex(counter, 4)}.${hex(nodeNo, 4)}`;

/** The number of the node that wrote the stamp. */
export const stampNodeNo = (stamp: Stamp): number => Number.parseInt(stamp.slice(18), 16);

/** All stamps of a record or a change. */
export const stampsOf = ({fields, deleted}: ConfigRecord): Stamp[] => [
  ...Object.values(fields).map(([, stamp]) => stamp),
  ...(deleted === null ? [] : [deleted]),
];

/** The next stamp after `last`, not before wall time `nowMs`. */
export const nextStamp = (last: Stamp | undefined, nowMs: number, nodeNo: number): Stamp => {
  const lastMs = last === undefined ? -1 : stampMs(last);
  if (nowMs > lastMs || last === undefined) return formatStamp(nowMs, 0, nodeNo);

  const counter = Number.parseInt(last.slice(13, 17), 16) + 1;
  return counter > maxCounter ? formatStamp(lastMs + 1, 0, nodeNo) : formatStamp(lastMs, counter, nodeNo);
};

const hourMs = 3_600_000;

/**
 * Stamps of other nodes move this node's clock ahead of its wall clock by at most this much. A stamp beyond it comes from a wrong
 * clock.
 */
const believedAheadMs = clockBelievedSeconds * 1000;

/** Writes of other nodes that are dated further ahead than this are rejected. */
const acceptedAheadMs = believedAheadMs + hourMs;

/**
 * A limit between the two: a write within it is accepted by every node whose wall clock is at most half an hour behind this
 * one's.
 */
const writableAheadMs = believedAheadMs + hourMs / 2;

/** Whether a node with wall clock `nowMs` rejects a write dated `stamp`. */
export const isTooFarAhead = (stamp: Stamp, nowMs: number): boolean => stampMs(stamp) > nowMs + acceptedAheadMs;

/** Whether this node may date its own write `stamp`. */
export const mayWriteAt = (stamp: Stamp, nowMs: number): boolean => stampMs(stamp) <= nowMs + writableAheadMs;

/**
 * The latest of the remote stamps within the trusted range; later writes of this node get a greater stamp. Empty if there is
 * none.
 */
const latestOf = (stamps: Stamp[], nowMs: number): Stamp => {
  const bound = formatStamp(nowMs + believedAheadMs, 0, 0);
  return stamps.filter(stamp => stamp < bound).reduce((a, b) => (a > b ? a : b), '');
};

/**
 * `stamp`, or the stamp after the latest of `others` if `stamp` is not later: a write must be later than the values it replaces.
 */
export const laterThan = (others: Stamp[], stamp: Stamp, nodeNo: number): Stamp => {
  const latest = others.toSorted().at(-1);
  return latest === undefined || latest < stamp ? stamp : nextStamp(latest, 0, nodeNo);
};

const clockName = 'clock';

/** Advances this node's stored clock and returns the new stamp. */
export const tick = async (state: StateStore, nowMs: number, nodeNo: number): Promise<Stamp> => {
  const stamp = nextStamp(await state.read(clockName), nowMs, nodeNo);
  await state.write(clockName, stamp);
  return stamp;
};

/** Moves this node's stored clock to the latest of the remote stamps, see `latestOf`. */
export const observe = async (state: StateStore, stamps: Stamp[], nowMs: number): Promise<void> => {
  const latest = latestOf(stamps, nowMs);
  const own = await state.read(clockName);
  if (latest !== '' && (own === undefined || own < latest)) await state.write(clockName, latest);
};

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
