// Input of the terminal, without pastes, which are removed before ink turns the rest into keys.

import {createPasteReader, type TerminalEvent} from './paste-reader.ts';
import {withMembers} from './screen-guard.ts';

/** Input that bypasses the parser of ink. */
type OtherInput = Exclude<TerminalEvent, {kind: 'keys'}>;

export interface TerminalInput {
  /** Standard input for ink. */
  stdin: NodeJS.ReadStream;
  /** Sets the only listener: the dashboard that is shown. */
  listen(listener: (event: OtherInput) => void): () => void;
  /** The number of the last read: keys with the same number came in one piece. */
  readNumber(): number;
}

export const createTerminalInput = (terminal: NodeJS.ReadStream): TerminalInput => {
  const inkListeners = new Set<() => void>();
  let listener: ((event: OtherInput) => void) | undefined;
  let forInk: string | null = null;
  let reads = 0;

  // Ink reads at once on `readable`, so keys and pastes keep their order.
  const reader = createPasteReader(event => {
    if (event.kind !== 'keys') {
      listener?.(event);
      return;
    }
    forInk = event.text;
    for (const readable of inkListeners) readable();
    forInk = null;
  });
  const onReadable = (): void => {
    for (let chunk: unknown = terminal.read(); chunk !== null; chunk = terminal.read()) {
      reads += 1;
      reader.push(String(chunk));
    }
  };

  /** Listens to the terminal while ink does: between two dashboards nothing takes a key. */
  const changes: Record<string, unknown> = {
    addListener: (name: string, readable: () => void) => {
      if (name !== 'readable') return terminal.addListener(name, readable);
      if (inkListeners.size === 0) {
        terminal.addListener('readable', onReadable);
        reader.resume();
      }
      inkListeners.add(readable);
      return terminal;
    },
    removeListener: (name: string, readable: () => void) => {
      if (name !== 'readable') return terminal.removeListener(name, readable);
      inkListeners.delete(readable);
      if (inkListeners.size === 0) {
        terminal.removeListener('readable', onReadable);
        reader.pause();
      }
      return terminal;
    },
    read: () => {
      const text = forInk;
      forInk = null;
      return text;
    },
  };

  return {
    stdin: withMembers(terminal, changes),
    listen: next => {
      listener = next;
      return () => {
        if (listener === next) listener = undefined;
      };
    },
    readNumber: () => reads,
  };
};
