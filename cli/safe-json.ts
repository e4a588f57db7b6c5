import {safeLine} from '../shared/safe-text.ts';

const beyondAscii = /[^\x20-\x7e\n]+/gu;

/**
 * JSON that a terminal can be shown: `JSON.stringify` leaves C1 controls, bidirectional and zero-width characters raw, so
 * they become `\uXXXX`. It parses to the same value. `indent` is that of `JSON.stringify`.
 */
export const safeJson = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, null, indent) ?? 'null').replace(beyondAscii, run =>
    isHarmless(run) ? run : [...run].map(char => (isHarmless(char) ? char : escaped(char))).join(''),
  );

/** The letter in front carries a combining mark, which alone would be marked as out of place. */
const isHarmless = (text: string): boolean => safeLine(`a${text}`) === `a${text}`;

const escaped = (char: string): string =>
  Array.from({length: char.length}, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
