// Guard of the terminal: the alternate screen, and bracketed paste. However the dashboard ends, or when it is suspended, the terminal is
// restored.
import {writeSync} from 'node:fs';
import {useStdout} from 'ink';
import {useEffect, useLayoutEffect, useState} from 'react';
import type {Size} from './shell.ts';

/** Alternate screen, cleared, no line wrapping, no cursor, pastes between markers. */
const enter = '\x1b[?1049h\x1b[2J\x1b[H\x1b[?7l\x1b[?25l\x1b[?2004h';
/** No paste markers, wrapping, the cursor, plain text, and the main screen. */
const leave = '\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l';

export interface ScreenGuard {
  /** Restores the terminal; idempotent. */
  leave(): void;
  /** Restores the terminal and stops the process, as ctrl+z does elsewhere. */
  suspend(): void;
  /** Called after the process continues and the terminal is taken over again, cleared. */
  onResumed(listener: () => void): () => void;
}

interface GuardNeeds {
  /** Descriptor of the terminal. */
  fd: number;
  stdin: {isTTY?: boolean | undefined; setRawMode?(mode: boolean): unknown};
}

/** Synchronous, as nothing asynchronous runs after a crash. */
export const guardScreen = ({fd, stdin}: GuardNeeds): ScreenGuard => {
  const resumed = new Set<() => void>();
  let isLeft = false;

  const write = (text: string): void => {
    try {
      writeSync(fd, text);
    } catch {
      // The terminal is gone.
    }
  };
  const setRaw = (isRaw: boolean): void => {
    try {
      if (stdin.isTTY) stdin.setRawMode?.(isRaw);
    } catch {
      // The terminal is gone.
    }
  };
  const giveBack = (): void => {
    if (isLeft) return;
    isLeft = true;
    process.off('exit', giveBack);
    process.off('uncaughtExceptionMonitor', onCrash);
    process.off('SIGTSTP', stop);
    process.off('SIGCONT', resume);
    setRaw(false);
    write(leave);
  };
  /** Restores the terminal before the crash is reported, unless the exception has a handler, which does it then. */
  const onCrash = (): void => {
    if (process.listenerCount('uncaughtException') === 0) giveBack();
  };
  const stop = (): void => {
    setRaw(false);
    write(leave);
    process.kill(process.pid, 'SIGSTOP');
  };
  const resume = (): void => {
    setRaw(true);
    write(enter);
    for (const listener of resumed) listener();
  };

  process.on('exit', giveBack);
  process.on('uncaughtExceptionMonitor', onCrash);
  process.on('SIGTSTP', stop);
  process.on('SIGCONT', resume);
  write(enter);
  return {
    leave: giveBack,
    // To the whole process group, as the terminal does: a parent process stops, too.
    suspend: () => process.kill(0, 'SIGTSTP'),
    onResumed: listener => {
      resumed.add(listener);
      return () => resumed.delete(listener);
    },
  };
};

type Terminal = Pick<NodeJS.WriteStream, 'columns' | 'rows' | 'on' | 'off'>;

/** One row less than the terminal has: the cursor rests on its last line. */
export const useTerminalSize = (terminal: Terminal): Size => {
  const [size, setSize] = useState(() => sizeOf(terminal));
  useEffect(() => {
    const onResize = () => setSize(sizeOf(terminal));
    terminal.on('resize', onResize);
    // The size may have changed before the listener was added.
    onResize();
    return () => {
      terminal.off('resize', onResize);
    };
  }, [terminal]);
  return size;
};

const sizeOf = ({columns, rows}: Terminal): Size => ({columns: columns || 80, rows: Math.max(1, (rows || 24) - 1)});

const clear = '\x1b[2J\x1b[H';

/** Clears the screen after a resize, as terminals rewrap the old lines in different ways. */
export const useRedraw = ({columns, rows}: Size, {onResumed}: Pick<ScreenGuard, 'onResumed'>): void => {
  const {write} = useStdout();
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the size that matters
  useLayoutEffect(() => write(clear), [columns, rows, write]);
  useEffect(() => onResumed(() => write(clear)), [onResumed, write]);
};

/**
 * The terminal, with an unlimited height for ink. Ink clears the terminal and its scrollback, which belongs to the user, when the
 * drawing is as high as the terminal; the shell itself respects the height.
 */
export const inkOutput = (stdout: NodeJS.WriteStream): NodeJS.WriteStream =>
  new Proxy(stdout, {
    get: (target, name) => {
      if (name === 'rows') return Number.MAX_SAFE_INTEGER;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
