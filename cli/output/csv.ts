import {safeLine} from '../../shared/safe-text.ts';
import {safeJson} from './safe-json.ts';

/**
 * RFC 4180: a header and a line per record, ended by CRLF. Null is empty, a list of plain values is joined by spaces, any other
 * nested value is JSON.
 */
export const toCsv = (fields: readonly string[], records: readonly unknown[]): string => {
  const rows = records.map(record => fields.map(field => cellText((record as Record<string, unknown>)[field])));
  return [fields.map(guarded), ...rows].map(cells => `${cells.map(quoted).join(',')}\r\n`).join('');
};

/** For records of an unknown kind: the members of all of them. */
export const fieldsOf = (records: readonly unknown[]): string[] => [
  ...new Set(records.flatMap(record => Object.keys(record as object))),
];

const cellText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return guarded(value);
  if (Array.isArray(value) && value.every(isPlain)) return guarded(value.join(' '));
  return safeLine(safeJson(value));
};

const isPlain = (value: unknown): boolean => value === null || typeof value !== 'object';

/**
 * A spreadsheet runs text that begins like this as a formula, also after spaces and quotes, and also in the
 * full-width forms that some keyboards write.
 */
const formulaStart = /^(?:[\t\r\n]|[\s\p{Pi}\p{Pf}"'`]*[=+\-@\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20])/u;

/** Spreadsheets themselves write an apostrophe before text that must stay text. */
const guarded = (text: string): string => {
  const safe = safeLine(text);
  return formulaStart.test(text) || formulaStart.test(safe) ? `'${safe}` : safe;
};

const quoted = (cell: string): string => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
