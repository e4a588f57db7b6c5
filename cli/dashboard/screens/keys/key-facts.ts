// Condition of a key at a glance: state, end and use.
import type {ApiKey} from '../../../../shared/api-key.ts';
import {durationText} from '../../../output/cell-text.ts';
import type {Tone} from '../../../output/tone.ts';

type KeyState = 'active' | 'revoked' | 'expired';

interface KeyCondition {
  state: KeyState;
  /** With a glyph: `▲ 3d left`. */
  text: string;
  tone: Tone | undefined;
  /** Lower for keys that need more attention. */
  rank: number;
}

const dayMs = 86_400_000;
const endingSoonMs = 14 * dayMs;
const idleAfterMs = 90 * dayMs;
const unusedAfterMs = 30 * dayMs;

export const conditionOf = (key: ApiKey, nowMs: number): KeyCondition => {
  const {revoked_at, expires_at, last_used_at, created_at} = key;
  if (revoked_at !== null) return {state: 'revoked', text: '✗ revoked', tone: undefined, rank: 5};
  const leftMs = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - nowMs;
  if (leftMs <= 0) return {state: 'expired', text: '✗ expired', tone: 'bad', rank: 0};
  if (leftMs < endingSoonMs)
    return {state: 'active', text: `▲ ${durationText(Math.floor(leftMs / 1000))} left`, tone: 'warn', rank: 1};
  if (last_used_at === null)
    return nowMs - Date.parse(created_at) > unusedAfterMs
      ? {state: 'active', text: '◌ unused', tone: 'warn', rank: 2}
      : {state: 'active', text: '● active', tone: 'good', rank: 4};
  const idleMs = nowMs - Date.parse(last_used_at);
  if (idleMs > idleAfterMs)
    return {state: 'active', text: `◌ idle ${durationText(Math.floor(idleMs / 1000))}`, tone: 'warn', rank: 3};
  return {state: 'active', text: '● active', tone: 'good', rank: 4};
};

/** `3m ago`, `never`. */
export const usedText = ({last_used_at}: ApiKey, nowMs: number): string =>
  last_used_at === null ? 'never' : `${durationText(Math.max(0, Math.floor((nowMs - Date.parse(last_used_at)) / 1000)))} ago`;

/** `in 89d`, `never`, `3d ago`. */
export const endText = ({expires_at}: ApiKey, nowMs: number): string => {
  if (expires_at === null) return 'never';
  const seconds = Math.floor((Date.parse(expires_at) - nowMs) / 1000);
  return seconds > 0 ? `in ${durationText(seconds)}` : `${durationText(-seconds)} ago`;
};
