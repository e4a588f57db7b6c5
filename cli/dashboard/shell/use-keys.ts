import {useInput} from 'ink';
import {useCallback, useLayoutEffect, useMemo, useRef, useState} from 'react';
import {createKeyQueue, type KeyName, keyNames} from './keys.ts';
import type {Paste} from './paste-reader.ts';
import type {TerminalInput} from './terminal-input.ts';

/** The number of keys handled in one chain. */
const longestChain = 10;

interface KeyHandlers {
  /** `isFirst`: the first key of one read. The others were sent before the user saw the effect of the first one. */
  onKey(key: KeyName, isFirst: boolean): void;
  onPaste(paste: Paste): void;
}

type Pressed = {kind: 'key'; key: KeyName; isFirst: boolean} | {kind: 'paste'; paste: Paste};

/** Handles each key after the effect of the one before has been drawn. */
export const useKeys = (input: TerminalInput, handlers: KeyHandlers): void => {
  const latest = useRef(handlers);
  const [handled, setHandled] = useState(0);
  const queue = useMemo(
    () =>
      createKeyQueue<Pressed>(pressed => {
        if (pressed.kind === 'paste') latest.current.onPaste(pressed.paste);
        else latest.current.onKey(pressed.key, pressed.isFirst);
        setHandled(count => count + 1);
      }),
    [],
  );
  const lastRead = useRef(0);
  const press = useCallback(
    (keys: readonly KeyName[]): void => {
      const read = input.readNumber();
      queue.add(keys.map((key, at) => ({kind: 'key', key, isFirst: at === 0 && read !== lastRead.current})));
      lastRead.current = read;
    },
    [input, queue],
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
  useInput((text, key) => press(keyNames(text, key)));
  useLayoutEffect(
    () =>
      input.listen(event => {
        if (event.kind === 'escape') press(['escape']);
        else queue.add([event]);
      }),
    [input, press, queue],
  );
};
