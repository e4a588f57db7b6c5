import {safeLine} from '../../shared/safe-text.ts';

const beyondAscii = /[^\x20-\x7e\n]+/gu;

/**
 * JSON that a terminal can be shown: `JSON.stringify` leaves C1 controls, bidirectional and zero-width characters raw, so
 * they become `\uXXXX`. It parses to the same value. `indent` is that of `JSON.stringify`.
 */
export const safeJson = (value: unknown, indent?: number): string =>
  escapeUnsafe(JSON.stringify(value, null, indent) ?? 'null', escaped);

/** Every character that a terminal must not get, but the line feed, in the form that `escapeOf` gives it. */
export const escapeUnsafe = (text: string, escapeOf: (char: string) => string): string =>
  text.replace(beyondAscii, run =>
    isHarmless(run) ? run : [...run].map(char => (isHarmless(char) ? char : escapeOf(char))).join(''),
  );

/** Whether nothing of it has to be escaped, the line feed included. */
export const isSafe = (text: string): boolean => !text.includes('\n') && escapeUnsafe(text, () => '\n') === text;

/** The letter in front carries a combining mark, which alone would be marked as out of place. */
const isHarmless = (text: string): boolean => safeLine(`a${text}`) === `a${text}`;

const escaped = (char: string): string =>
  Array.from({length: char.length}, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
