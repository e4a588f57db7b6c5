// What is wrong for as long as it is: shown in the message line of every screen while nothing else is said there.
import type {Tone} from '../../output/tone.ts';

export interface Notice {
  text: string;
  tone: Tone;
}

export interface Notices {
  /** Worst first; the same array until something changes. */
  list(): readonly Notice[];
  subscribe(listener: () => void): () => void;
  /** All that one source has to say; an empty list when it is over. */
  set(source: string, notices: readonly Notice[]): void;
}

const rank: Record<Tone, number> = {bad: 0, warn: 1, good: 2};

export const createNotices = (): Notices => {
  const listeners = new Set<() => void>();
  const bySource = new Map<string, readonly Notice[]>();
  let all: readonly Notice[] = [];

  return {
    list: () => all,
    subscribe: listener => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set: (source, notices) => {
      bySource.set(source, notices);
      const next = [...bySource.values()].flat().sort((a, b) => rank[a.tone] - rank[b.tone]);
      if (isSame(next, all)) return;
      all = next;
      for (const listener of listeners) listener();
    },
  };
};

const isSame = (a: readonly Notice[], b: readonly Notice[]): boolean =>
  a.length === b.length && a.every(({text, tone}, at) => text === b[at]?.text && tone === b[at]?.tone);
