// The alternate screen. Whatever ends the process, the terminal is left as it was found.
import {writeSync} from 'node:fs';

/** Alternate screen, cleared, no line wrapping. */
const enter = '\x1b[?1049h\x1b[2J\x1b[H\x1b[?7l';
/** Wrapping, the cursor, plain text, and the screen from before. */
const leave = '\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l';

export interface ScreenGuard {
  /** Gives the terminal back; more than once does no harm. */
  leave(): void;
}

export interface GuardNeeds {
  /** Descriptor of the terminal. */
  fd: number;
  stdin: {isTTY?: boolean | undefined; setRawMode?(mode: boolean): unknown};
}

/** Synchronous at both ends: at a crash nothing asynchronous is done any more. */
export const guardScreen = ({fd, stdin}: GuardNeeds): ScreenGuard => {
  let isEntered = true;
  const giveBack = (): void => {
    if (!isEntered) return;
    isEntered = false;
    process.off('exit', giveBack);
    process.off('uncaughtExceptionMonitor', giveBack);
    try {
      if (stdin.isTTY) stdin.setRawMode?.(false);
      writeSync(fd, leave);
    } catch {
      // The terminal is gone.
    }
  };
  process.on('exit', giveBack);
  // Before the report of the crash is written, so that it can be read.
  process.on('uncaughtExceptionMonitor', giveBack);
  writeSync(fd, enter);
  return {leave: giveBack};
};
