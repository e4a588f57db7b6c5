// Keys by name: `j`, `G`, `/`, `space`, `enter`, `escape`, `up`, `pagedown`, `ctrl+d`, `shift+tab`…
import type {Key as InkKey} from 'ink';
import type {Permission} from '../../../shared/scopes.ts';

export type KeyName = string;

const named = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['backspace', 'backspace'],
  // What most keyboards call backspace arrives as DEL.
  ['delete', 'backspace'],
] as const satisfies readonly (readonly [keyof InkKey, KeyName])[];

/** A chunk of input may be many keys: typed ahead or repeated. */
export const keyNames = (input: string, key: InkKey): KeyName[] => {
  if (key.tab) return [key.shift ? 'shift+tab' : 'tab'];
  const name = named.find(([flag]) => key[flag])?.[1];
  if (name !== undefined) return [name];
  if (key.ctrl) return input === '' ? [] : [`ctrl+${input}`];
  if (key.meta) return [];
  return [...input].flatMap(nameOf);
};

const controls: Record<string, KeyName> = {
  ' ': 'space',
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\x7f': 'backspace',
  '\b': 'backspace',
};

const nameOf = (char: string): KeyName[] => {
  const known = controls[char];
  if (known !== undefined) return [known];
  if (char >= '\x01' && char <= '\x1a') return [`ctrl+${String.fromCharCode(char.charCodeAt(0) + 0x60)}`];
  return isControl(char) ? [] : [char];
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
    add: (keys: readonly T[]): void => {
      if (waiting.length < longest) waiting.push(...keys);
      if (!isBusy) next();
    },
    /** Called when the key before has taken effect. */
    next,
  };
};
