// Editor of one line of text, for prompts and the fields of forms. Plain data.
import {characterOf, type KeyName} from './keys.ts';

export interface Line {
  text: string;
  /** In characters from the start. */
  cursor: number;
}

export const lineOf = (text: string): Line => ({text, cursor: [...text].length});

/** The line after a key, or undefined when the key does not edit. */
export const edited = (line: Line, key: KeyName): Line | undefined => {
  const chars = [...line.text];
  const {cursor} = line;
  const replaced = (from: number, to: number, by = ''): Line => ({
    text: [...chars.slice(0, from), by, ...chars.slice(to)].join(''),
    cursor: from + [...by].length,
  });

  switch (key) {
    case 'left':
    case 'ctrl+b':
      return {...line, cursor: Math.max(0, cursor - 1)};
    case 'right':
    case 'ctrl+f':
      return {...line, cursor: Math.min(chars.length, cursor + 1)};
    case 'home':
    case 'ctrl+a':
      return {...line, cursor: 0};
    case 'end':
    case 'ctrl+e':
      return {...line, cursor: chars.length};
    case 'backspace':
    case 'ctrl+h':
      return cursor === 0 ? line : replaced(cursor - 1, cursor);
    case 'ctrl+d':
      return replaced(cursor, cursor + 1);
    case 'ctrl+w':
      return replaced(wordStart(chars, cursor), cursor);
    case 'ctrl+u':
      return replaced(0, cursor);
    case 'ctrl+k':
      return replaced(cursor, chars.length);
    default: {
      const char = characterOf(key);
      return char === undefined ? undefined : replaced(cursor, cursor, char);
    }
  }
};

/** The line with text at its cursor. */
export const inserted = ({text, cursor}: Line, added: readonly string[]): Line => {
  const chars = [...text];
  return {text: [...chars.slice(0, cursor), ...added, ...chars.slice(cursor)].join(''), cursor: cursor + added.length};
};

const wordStart = (chars: readonly string[], cursor: number): number => {
  let at = cursor;
  while (at > 0 && chars[at - 1] === ' ') at -= 1;
  while (at > 0 && chars[at - 1] !== ' ') at -= 1;
  return at;
};
