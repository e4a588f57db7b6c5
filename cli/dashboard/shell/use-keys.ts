import {useLayoutEffect, useMemo, useRef, useState} from 'react';
import {createKeyQueue, type KeyName} from './keys.ts';
import type {Paste} from './pasted-text.ts';
import type {TerminalEvent, TerminalKeys} from './terminal-keys.ts';

/** The number of keys handled in one chain. */
const longestChain = 10;

interface KeyHandlers {
  /** `isFirst`: see `TerminalEvent`. */
  onKey(key: KeyName, isFirst: boolean): void;
  onPaste(paste: Paste): void;
}

/** Handles each key after the effect of the one before has been drawn. */
export const useKeys = (keys: TerminalKeys, handlers: KeyHandlers): void => {
  const latest = useRef(handlers);
  const [handled, setHandled] = useState(0);
  const queue = useMemo(
    () =>
      createKeyQueue<TerminalEvent>(event => {
        if (event.kind === 'paste') latest.current.onPaste(event.paste);
        else latest.current.onKey(event.key, event.isFirst);
        setHandled(count => count + 1);
      }),
    [],
  );

  useLayoutEffect(() => {
    latest.current = handlers;
  });
  // In the same drawing as the key's changes, and after the effects of inner components.
  useLayoutEffect(() => {
    if (handled === 0) return;
    // React refuses a long chain of updates, each from the effects of the one before, as endless.
    if (handled % longestChain === 0) setImmediate(queue.next);
    else queue.next();
  }, [handled, queue]);
  useLayoutEffect(() => keys.listen(queue.add), [keys, queue]);
};
