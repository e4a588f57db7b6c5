import type {Terminal} from '../command-line/terminal.ts';
import {countText} from './cell-text.ts';

interface ProgressBar {
  /** Draws nothing when the total is 0. */
  update(progress: {done: number; total: number}): void;
  /** Erases the bar, so that lines can be written in its place. */
  clear(): void;
}

/** `releasing  ######--------  1,200 of 3,000` on standard error, if that is a terminal that can erase a line. */
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
  const available = Math.min(widestBar, width - what.length - counts.length - 4);
  if (available < narrowestBar) return counts.slice(0, Math.max(0, width));
  const filled = Math.min(available, Math.floor((available * done) / total));
  return `${what}  ${'#'.repeat(filled)}${'-'.repeat(available - filled)}  ${counts}`;
};
