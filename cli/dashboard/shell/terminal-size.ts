// Size of the terminal, and a clean screen after it has changed.
import {useStdout} from 'ink';
import {useEffect, useLayoutEffect, useState} from 'react';
import type {ScreenGuard} from './screen-guard.ts';
import type {Size} from './shell.ts';

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
