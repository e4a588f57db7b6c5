// Keys and pastes of the terminal: pasted text never runs as keys. node:readline turns the input into keys.
//
// keys → paste (start marker) → keys (end marker, or two seconds without input)
// keys → burst (text that no person types at once) → keys (a tenth of a second without input)
//
// Terminals without bracketed paste send no markers. A read of several characters is then either a paste, or keys that were typed or
// repeated while the connection or this program was busy, and nothing distinguishes the two for certain. So only text that no person types
// ahead counts as a paste, see `isBurst`; the rest is keys. The dashboard makes that safe: only the first key of a read answers a
// question, so that a pasted `Dy` opens the question and does not answer it.
import {emitKeypressEvents, type Key} from 'node:readline';
import {PassThrough} from 'node:stream';
import {type KeyName, keyName} from './keys.ts';
import type {Paste} from './pasted-text.ts';

export type TerminalEvent =
  /** `isFirst`: the first key of one read. The others were sent before the user saw the effect of the first one. */
  {kind: 'key'; key: KeyName; isFirst: boolean} | {kind: 'paste'; paste: Paste};

export interface TerminalKeys {
  /** Reads the terminal in raw mode until the returned function is called. There is one listener at a time, and between two none. */
  listen(listener: (event: TerminalEvent) => void): () => void;
}

export const longestPaste = 100_000;
/** How long each open state waits for more input. The user does not notice the delay of a lone escape. */
const waitMs = {escape: 50, paste: 2000, burst: 100};
/** More than a person types ahead. */
const longestTyped = 500;
const shortestLines = 20;

export const createTerminalKeys = (terminal: NodeJS.ReadStream): TerminalKeys => {
  let listener: ((event: TerminalEvent) => void) | undefined;
  const separator = createSeparator(event => listener?.(event));
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;

  const disarm = (): void => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
  /** Input that arrived while the program was suspended is read before the timer expires. */
  const arm = (): void => {
    disarm();
    const open = separator.open();
    if (open === undefined) return;
    timer = setTimeout(() => {
      immediate = setImmediate(separator.expire);
    }, waitMs[open]);
  };
  const onData = (chunk: string): void => {
    // In a paste ctrl+c is text: if it ended the dashboard, the rest of the paste would run in the shell. But repeated presses
    // must not keep a paste open whose end marker is missing.
    const isImpatience = separator.open() === 'paste' && chunk === '\x03';
    separator.read(chunk);
    if (!isImpatience) arm();
  };

  return {
    listen: next => {
      listener = next;
      terminal.setEncoding('utf8');
      terminal.setRawMode(true);
      terminal.on('data', onData);
      terminal.resume();
      arm();
      return () => {
        listener = undefined;
        disarm();
        terminal.off('data', onData);
        terminal.pause();
        terminal.setRawMode(false);
      };
    },
  };
};

/** Splits the input into keys and pastes. */
const createSeparator = (deliver: (event: TerminalEvent) => void) => {
  /** Keys of this read. All of them may turn out to be a paste. */
  let pressed: ParsedKey[] = [];
  let isFirst = false;
  /** The sequence before the next key. */
  let sequenceBefore = '';
  let paste: {text: string; length: number; isBurst: boolean} | undefined;

  const press = (): void => {
    for (const key of pressed) {
      const isRest = isUnfinished(sequenceBefore) && !key.sequence.startsWith('\x1b');
      sequenceBefore = isRest ? sequenceBefore + key.sequence : key.sequence;
      const name = isRest ? undefined : keyName(key);
      if (name !== undefined) deliver({kind: 'key', key: name, isFirst});
      isFirst = false;
    }
    pressed = [];
  };
  const begin = (isBurst: boolean): void => {
    const text = textOf(pressed);
    paste = {text: text.slice(0, longestPaste), length: text.length, isBurst};
    pressed = [];
    sequenceBefore = '';
  };
  const finish = (isComplete: boolean): void => {
    const {text = '', length = 0} = paste ?? {};
    paste = undefined;
    isFirst = false;
    if (length > 0) deliver({kind: 'paste', paste: {text, length, isComplete}});
  };
  const parser = createKeyParser(key => {
    if (key.name === 'paste-end' && !paste?.isBurst) {
      // An end without a start: the rest of a paste that timed out, or of one that contained an end marker.
      if (!paste) begin(false);
      finish(true);
    } else if (paste) {
      paste.text += key.sequence.slice(0, longestPaste - paste.text.length);
      paste.length += key.sequence.length;
    } else if (key.name === 'paste-start') {
      press();
      begin(false);
    } else pressed.push(key);
  });

  return {
    read: (chunk: string): void => {
      isFirst = true;
      parser.read(chunk);
      if (isBurst(textOf(pressed))) begin(true);
      else press();
    },
    open: (): keyof typeof waitMs | undefined => {
      if (paste) return paste.isBurst ? 'burst' : 'paste';
      return parser.hasEscape() ? 'escape' : undefined;
    },
    /** The end of a burst is a pause; a paste with markers is incomplete then. */
    expire: (): void => {
      parser.expire();
      press();
      if (paste) finish(paste.isBurst);
    },
  };
};

type ParsedKey = Key & {sequence: string};

const textOf = (keys: readonly ParsedKey[]): string => keys.map(({sequence}) => sequence).join('');

/** Of a sequence that readline does not know, as `\x1b[1;10D`, it takes only the beginning. The rest is not a key either. */
const isUnfinished = (sequence: string): boolean => /^\x1b+\[[ -?]+$/.test(sequence);

/** Ends an unfinished sequence, as it does in a terminal. Without it, readline misses a marker after alt+[, which is `\x1b[`. */
const cancel = '\x18';

/** Turns reads into keys. Escapes at the end of a read stay here: readline would wait half a second for what follows them. */
const createKeyParser = (take: (key: ParsedKey) => void) => {
  /** Keys, unless the next read goes on with a sequence. */
  let escapes = '';
  const input = new PassThrough();
  emitKeypressEvents(input);
  input.on('keypress', (_text, key: Key) => {
    const sequence = key.sequence?.replace(cancel, '') ?? '';
    if (sequence !== '') take({...key, sequence});
  });

  const releaseEscapes = (): void => {
    for (const sequence of escapes) take({name: 'escape', sequence});
    escapes = '';
  };
  return {
    hasEscape: () => escapes !== '',
    read: (chunk: string): void => {
      if (!/^[[O]/.test(chunk)) releaseEscapes();
      const text = escapes + chunk;
      let end = text.length;
      while (text[end - 1] === '\x1b') end -= 1;
      escapes = text.slice(end);
      input.emit('data', text.slice(0, end).replace(/\x1b?\x1b[[O]/g, `${cancel}$&`));
    },
    expire: (): void => {
      input.emit('data', cancel);
      releaseEscapes();
    },
  };
};

/** Several lines, or more than a person types ahead. A repeated key is not a burst, and escape sequences do not count. */
const isBurst = (text: string): boolean => {
  const typed = text.replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)/gs, '');
  if (typed.length > longestTyped) return [...typed].some(char => char !== typed[0]);
  return typed.length >= shortestLines && /[^\r\n][\r\n]+[^\r\n]/.test(typed);
};
