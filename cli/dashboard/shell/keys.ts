// Keys by name: `j`, `G`, `/`, `space`, `enter`, `escape`, `up`, `pagedown`, `ctrl+d`, `shift+tab`…
import type {Key} from 'node:readline';
import type {Permission} from '../../../shared/scopes.ts';

export type KeyName = string;

/** With any modifiers. */
const named = ['up', 'down', 'left', 'right', 'pageup', 'pagedown', 'home', 'end', 'tab', 'enter', 'escape', 'backspace'];

/** Undefined for keys that do nothing: function keys, and letters with alt. */
export const keyName = ({name = '', sequence = '', shift}: Key): KeyName | undefined => {
  if (name === 'tab' && shift) return 'shift+tab';
  if (name === 'return') return 'enter';
  if (name === 'delete') return 'backspace';
  if (named.includes(name)) return name;
  if (name !== '' && sequence.startsWith('\x1b')) return undefined;
  // Without an escape that came in the same read.
  const char = sequence.replace(/^\x1b+/, '');
  if (char === ' ') return 'space';
  if (/^[\x01-\x1a]$/.test(char)) return `ctrl+${String.fromCharCode(char.charCodeAt(0) + 0x60)}`;
  return [...char].length === 1 && !isControl(char) ? char : undefined;
};

/** Neither keys nor text: C0, DEL, C1, and lone surrogates. */
const isControl = (char: string): boolean => /[\p{Cc}\p{Cs}]/u.test(char);

/** The text without characters that cannot be typed. */
export const typedCharacters = (text: string): string[] => [...text].filter(char => !isControl(char));

/** The character a key stands for, if it stands for one. */
export const characterOf = (name: KeyName): string | undefined => {
  if (name === 'space') return ' ';
  return [...name].length === 1 ? name : undefined;
};

/** A key of a screen. Without a `label` the footer does not show it. */
export interface Binding {
  keys: readonly KeyName[];
  /** What it does, for the help of the screen. */
  help: string;
  /** A word for the footer. */
  label?: string;
  /** Without this permission the footer hides the key, and pressing it shows the reason. */
  needs?: Permission;
  /** The name of a command, typed after `:`, that does the same. */
  command?: string;
  run(key: KeyName): void;
}

/** More than a person types ahead. */
const longest = 5000;

/** `handle` is followed by a call of `next`, sooner or later. */
export const createKeyQueue = <T>(handle: (key: T) => void) => {
  const waiting: T[] = [];
  let isBusy = false;
  const next = (): void => {
    const key = waiting.shift();
    isBusy = key !== undefined;
    if (key !== undefined) handle(key);
  };
  return {
    add: (key: T): void => {
      if (waiting.length < longest) waiting.push(key);
      if (!isBusy) next();
    },
    /** Called when the key before has taken effect. */
    next,
  };
};
