// Notices of present problems, shown in the message line of every screen while there is no message.
import type {Tone} from '../../output/column.ts';
import {createValue, type Watched} from './store.ts';

export interface Notice {
  text: string;
  tone: Tone;
}

/** Worst first. */
export interface Notices extends Watched<readonly Notice[]> {
  /** Replaces the notices of one source; an empty list removes them. */
  set(source: string, notices: readonly Notice[]): void;
}

const rank: Record<Tone, number> = {bad: 0, warn: 1, good: 2};

export const createNotices = (): Notices => {
  const bySource = new Map<string, readonly Notice[]>();
  const {get, subscribe, set} = createValue<readonly Notice[]>([]);

  return {
    get,
    subscribe,
    set: (source, notices) => {
      bySource.set(source, notices);
      const next = [...bySource.values()].flat().sort((a, b) => rank[a.tone] - rank[b.tone]);
      if (!isSame(next, get())) set(next);
    },
  };
};

const isSame = (a: readonly Notice[], b: readonly Notice[]): boolean =>
  a.length === b.length && a.every(({text, tone}, at) => text === b[at]?.text && tone === b[at]?.tone);
