import {useInput} from 'ink';
import {useLayoutEffect, useMemo, useRef, useState} from 'react';
import {createKeyQueue} from './key-queue.ts';
import {type KeyName, keyNames} from './keys.ts';

/** Keys handled one right after the other. */
const longestChain = 10;

/** Each key is handled when what the one before has changed is drawn. */
export const useKeys = (handle: (key: KeyName) => void): void => {
  const latest = useRef(handle);
  const [handled, setHandled] = useState(0);
  const queue = useMemo(
    () =>
      createKeyQueue(key => {
        latest.current(key);
        setHandled(count => count + 1);
      }),
    [],
  );
  useLayoutEffect(() => {
    latest.current = handle;
  });
  // Drawn together with what the key has changed, and after the effects of what is inside.
  useLayoutEffect(() => {
    if (handled === 0) return;
    // React takes a long chain of updates, each from the effects of the one before, for an endless one, and gives up.
    if (handled % longestChain === 0) setImmediate(queue.next);
    else queue.next();
  }, [handled, queue]);
  useInput((input, key) => queue.add(keyNames(input, key)));
};
