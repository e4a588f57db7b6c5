import type {Terminal} from '../command-line/terminal.ts';
import {countText} from './cell-text.ts';

export interface ProgressBar {
  /** Nothing is drawn of a whole that is nothing. */
  update(progress: {done: number; total: number}): void;
  /** Takes it away, so that lines can be written where it was. */
  clear(): void;
}

/** `releasing  ######--------  1,200 of 3,000` on standard error, where that is a terminal that can take a line back. */
export const createProgressBar = ({stderr, env}: Terminal, what: string, isQuiet: boolean): ProgressBar => {
  const isShown = Boolean(stderr.isTTY) && !isQuiet && env.TERM !== 'dumb';
  let isDrawn = false;
  return {
    update({done, total}) {
      if (!isShown || total === 0) return;
      stderr.write(`\r${barText(what, {done, total}, (stderr.columns || 80) - 1)}\x1b[K`);
      isDrawn = true;
    },
    clear() {
      if (isDrawn) stderr.write('\r\x1b[K');
      isDrawn = false;
    },
  };
};

const widestBar = 40;
const narrowestBar = 5;

const barText = (what: string, {done, total}: {done: number; total: number}, width: number): string => {
  const counts = `${countText(done)} of ${countText(total)}`;
  const room = Math.min(widestBar, width - what.length - counts.length - 4);
  if (room < narrowestBar) return counts.slice(0, Math.max(0, width));
  const filled = Math.min(room, Math.floor((room * done) / total));
  return `${what}  ${'#'.repeat(filled)}${'-'.repeat(room - filled)}  ${counts}`;
};
