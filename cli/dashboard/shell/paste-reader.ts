// Separator of pastes and keys in the terminal's input: pasted text never runs as keys.
//
// keys → paste (start marker) → keys (end marker, or two seconds without input)
// keys → burst (text that no person types at once) → keys (a tenth of a second without input)
//
// Terminals without bracketed paste send no markers. A read of several characters is then either a paste, or keys that were typed or
// repeated while the connection or this program was busy, and nothing distinguishes the two for certain. So only text that no person types
// ahead counts as a paste, see `isBurst`; the rest is keys. The dashboard makes that safe: only the first key of a read answers a
// question, so that a pasted `Dy` opens the question and does not answer it.
import {stripVTControlCharacters} from 'node:util';
import {countText, plural} from '../../output/cell-text.ts';
import {typedCharacters} from './keys.ts';
import {inserted, type Line} from './line-editor.ts';

export interface Paste {
  /** Unsanitised; at most `longestPaste` UTF-16 units. */
  text: string;
  /** The number of UTF-16 units received. */
  length: number;
  /** False when the end marker was missing. */
  isComplete: boolean;
}

/** Keys are as the terminal sends them. A lone escape is a separate event, as the parser of ink would join it to the next key. */
export type TerminalEvent = {kind: 'keys'; text: string} | {kind: 'escape'} | {kind: 'paste'; paste: Paste};

const startMarker = '\x1b[200~';
const endMarker = '\x1b[201~';
const marker = /\x1b\[20[01]~/;
/** A marker that the next read may complete. */
const partOfMarker = /\x1b(?:\[(?:2(?:0[01]?)?)?)?$/;

export const longestPaste = 100_000;
/** A lone escape is most likely the key; the user does not notice this delay. */
const escapeMs = 50;
/** No key sends a longer part of a marker, so a marker that the connection split gets more time. */
const markerMs = 1000;
/** How long each open state waits for more input. */
const waitMs = {escape: escapeMs, marker: markerMs, paste: 2000, burst: 100};
/** More than a person types ahead. */
const longestTyped = 500;
const shortestLines = 20;

export const createPasteReader = (deliver: (event: TerminalEvent) => void) => {
  const separator = createSeparator(deliver);
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

  return {
    /** Takes the text of one read. */
    push: (chunk: string): void => {
      // In a paste ctrl+c is text: if it ended the dashboard, the rest of the paste would run in the shell. But repeated presses
      // must not keep a paste open whose end marker is missing.
      const isImpatience = separator.isInPaste() && chunk === '\x03';
      separator.push(chunk);
      if (!isImpatience) arm();
    },
    /** Stops the timer while nobody reads; `resume` starts it again. */
    pause: disarm,
    resume: arm,
  };
};

/** Splits the input into keys and pastes. Some input is undecided until more arrives or time passes. */
const createSeparator = (deliver: (event: TerminalEvent) => void) => {
  /** The end of the last read, when it may be a part of a marker. */
  let held = '';
  const paste = createOpenPaste(deliver);

  /** Takes the text of a paste with markers, or of a burst. Returns what is left to separate. */
  const collect = (text: string): string => {
    const end = paste.hasMarkers() ? text.indexOf(endMarker) : -1;
    if (end === -1) {
      held = paste.hasMarkers() ? partAtEnd(text) : '';
      paste.add(text.slice(0, text.length - held.length));
      return '';
    }
    paste.add(text.slice(0, end));
    paste.finish(true);
    return text.slice(end + endMarker.length);
  };
  /** Takes keys, up to where a paste begins. Returns what is left to separate. */
  const separate = (text: string): string => {
    const at = text.search(marker);
    if (at === -1) {
      if (isBurst(text)) {
        paste.begin(false);
        return text;
      }
      held = partAtEnd(text);
      press(deliver, text.slice(0, text.length - held.length));
      return '';
    }
    const before = text.slice(0, at);
    if (text.startsWith(endMarker, at)) {
      // An end without a start: the rest of a paste that timed out, or of one that contained an end marker.
      paste.begin(true);
      paste.add(before);
      paste.finish(true);
    } else {
      press(deliver, before);
      paste.begin(true);
    }
    return text.slice(at + startMarker.length);
  };

  return {
    isInPaste: paste.isOpen,
    push: (chunk: string): void => {
      const isKeyOfItsOwn = !paste.isOpen() && held === '\x1b' && !/^[[O]/.test(chunk);
      if (isKeyOfItsOwn) press(deliver, held);
      let text = isKeyOfItsOwn ? chunk : held + chunk;
      held = '';
      while (text !== '') text = paste.isOpen() ? collect(text) : separate(text);
    },
    open: (): keyof typeof waitMs | undefined => {
      if (paste.isOpen()) return paste.hasMarkers() ? 'paste' : 'burst';
      if (held === '') return undefined;
      return held === '\x1b' ? 'escape' : 'marker';
    },
    expire: (): void => {
      const rest = held;
      held = '';
      if (paste.isOpen()) paste.expire(rest);
      else press(deliver, rest);
    },
  };
};

const createOpenPaste = (deliver: (event: TerminalEvent) => void) => {
  let open: {text: string; length: number; hasMarkers: boolean} | undefined;

  const hasMarkers = (): boolean => open?.hasMarkers ?? false;
  const add = (text: string): void => {
    if (!open) return;
    open.text += text.slice(0, longestPaste - open.text.length);
    open.length += text.length;
  };
  const finish = (isComplete: boolean): void => {
    const paste = open;
    open = undefined;
    if (paste && paste.length > 0) deliver({kind: 'paste', paste: {text: paste.text, length: paste.length, isComplete}});
  };

  return {
    isOpen: (): boolean => open !== undefined,
    hasMarkers,
    begin: (withMarkers: boolean): void => {
      open = {text: '', length: 0, hasMarkers: withMarkers};
    },
    add,
    finish,
    /** The end of a burst is a pause; a paste with markers is incomplete then. */
    expire: (rest: string): void => {
      add(rest);
      finish(!hasMarkers());
    },
  };
};

const press = (deliver: (event: TerminalEvent) => void, text: string): void => {
  let end = text.length;
  while (text[end - 1] === '\x1b') end -= 1;
  if (end > 0) deliver({kind: 'keys', text: text.slice(0, end)});
  for (let at = end; at < text.length; at += 1) deliver({kind: 'escape'});
};

const partAtEnd = (text: string): string => partOfMarker.exec(text.slice(-endMarker.length))?.[0] ?? '';

/** Several lines, or more than a person types ahead. A repeated key is no burst, and escape sequences do not count. */
const isBurst = (text: string): boolean => {
  const typed = text.replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)/gs, '');
  if (typed.length > longestTyped) return [...typed].some(char => char !== typed[0]);
  return typed.length >= shortestLines && /[^\r\n][\r\n]+[^\r\n]/.test(typed);
};

/** The longest text that a paste can produce in a field; all values of the dashboard are shorter. */
export const longestPastedLine = 4096;

interface PastedLine {
  line: Line;
  /** A warning about an unusual paste. */
  warning: string | undefined;
}

/** The line with the text at its cursor. Line breaks become `separator`. */
export const pastedInto = (line: Line, {text, length, isComplete}: Paste, separator = ' '): PastedLine => {
  const chars = typedCharacters(oneLine(stripVTControlCharacters(text), separator));
  const taken = chars.slice(0, Math.max(0, longestPastedLine - [...line.text].length));
  const isCut = taken.length < chars.length || text.length < length;
  const cut = `Pasted text of ${plural(length, 'character')} was cut: the field took ${countText(taken.length)}`;
  const unfinished = 'The end of the pasted text did not arrive: check what is in the field';
  return {line: inserted(line, taken), warning: isCut ? cut : isComplete ? undefined : unfinished};
};

/** The message for a paste where no text is accepted. */
export const pasteIgnored = ({length}: Paste): string =>
  `Pasted text (${plural(length, 'character')}) does nothing here: paste into a text field`;

const lineBreak = /[\r\n\v\f\u0085\u2028\u2029]+/;

const oneLine = (text: string, separator: string): string => {
  const lines = text
    .replaceAll('\t', ' ')
    .split(lineBreak)
    .filter(line => line.trim() !== '');
  if (lines.length <= 1) return lines[0] ?? '';
  const mark = separator.trim();
  // The pasted list may have commas already.
  return lines
    .map(line => (mark !== '' && line.trim().endsWith(mark) ? line.trim().slice(0, -mark.length) : line).trim())
    .join(separator);
};
