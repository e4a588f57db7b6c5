import {safeLine} from '../../shared/safe-text.ts';

const beyondAscii = /[^\x20-\x7e\n]+/gu;

/**
 * JSON that is safe on a terminal: `JSON.stringify` leaves C1 controls, bidirectional and zero-width characters raw, so
 * they become `\uXXXX`. It parses to the same value. `indent` is that of `JSON.stringify`.
 */
export const safeJson = (value: unknown, indent?: number): string =>
  escapeUnsafe(JSON.stringify(value, null, indent) ?? 'null', escaped);

/** Escapes every character that a terminal must not get, except the line feed. */
export const escapeUnsafe = (text: string, escapeOf: (char: string) => string): string =>
  text.replace(beyondAscii, run =>
    isHarmless(run) ? run : [...run].map(char => (isHarmless(char) ? char : escapeOf(char))).join(''),
  );

/** Whether the text needs no escapes and has no line feed. */
export const isSafe = (text: string): boolean => !text.includes('\n') && escapeUnsafe(text, () => '\n') === text;

/** The letter in front carries a combining mark, which would not be safe alone. */
const isHarmless = (text: string): boolean => safeLine(`a${text}`) === `a${text}`;

const escaped = (char: string): string =>
  Array.from({length: char.length}, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
