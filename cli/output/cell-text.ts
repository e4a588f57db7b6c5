// Texts for table cells. The exact values are in the JSON.

import type {DkimKey} from '../../shared/dkim-key.ts';
import {recipientKeyId} from '../../shared/recipient-key.ts';
import {safeLine} from '../../shared/safe-text.ts';
import type {Cell} from './column.ts';

export const cellText = (value: Cell): string => {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return safeLine(String(value));
};

/** `2026-03-01T09:30:00Z`: to the second, on a terminal and in a pipe. */
export const timeText = (timestamp: string | null): string | null => timestamp?.replace(/\.\d+(?=Z$)/, '') ?? null;

/** `03-01 09:30Z`, for narrow terminals. */
export const briefTimeText = (timestamp: string | null): string | null =>
  timestamp?.replace(/^\d+-(\d\d-\d\d)T(\d\d:\d\d).*(?=Z$)/, '$1 $2') ?? null;

/** `09:30:01Z`, without the day, which a person who watches knows. */
export const timeOfDay = (timestamp: string): string => timestamp.replace(/^.*T(\d\d:\d\d:\d\d).*$/, '$1Z');

export const dateText = (timestamp: string | null): string | null => timestamp?.slice(0, 10) ?? null;

export const countText = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

export const percentText = (part: number, whole: number): string => (whole === 0 ? '-' : `${Math.floor((100 * part) / whole)} %`);

export const plural = (count: number, noun: string): string => `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export const sizeText = (bytes: number): string => {
  const power = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1024 ** power;
  return `${power === 0 ? amount : amount.toFixed(1)} ${units[power]}`;
};

export const durationText = (seconds: number): string => {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 2 * 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
};

/** The same in a sentence: `32 s`, `5 min`. */
export const durationWords = (seconds: number): string => {
  const text = durationText(seconds);
  return `${text.slice(0, -1)} ${text.endsWith('m') ? 'min' : text.slice(-1)}`;
};

/** An envelope sender is empty for a bounce (RFC 5321 section 4.5.5). */
export const senderText = (sender: string): string => sender || '<>';

/** Who released or discarded a mail. */
export const actorText = ({acted_by_key_id: id}: {acted_by_key_id: number | null}): string =>
  id === null || id === recipientKeyId ? keylessText(id) : `by key ${id}`;

/** The same with the name of the key, as a node knows it. */
export const namedActorText = ({key_id: id, key_name: name}: {key_id: number | null; key_name: string | null}): string => {
  if (id === null || id === recipientKeyId) return keylessText(id);
  return name === null ? `with key ${id}, deleted since` : `with the key ${name}`;
};

const keylessText = (id: null | typeof recipientKeyId): string => (id === null ? 'by the node itself' : 'by the recipient');

/** The first value, and the number of others. */
export const firstOf = (texts: readonly string[]): string => {
  const [first = '', ...rest] = texts;
  return rest.length === 0 ? first : `${first} +${rest.length}`;
};

/** The record as a line of a zone file. A string in it holds 255 bytes at most (RFC 1035 section 3.3); resolvers join them. */
export const zoneLine = ({dns_name, dns_record}: Pick<DkimKey, 'dns_name' | 'dns_record'>): string => {
  const strings = dns_record.match(/.{1,255}/g) ?? [''];
  return `${dns_name}. IN TXT ${strings.map(text => `"${text.replace(/["\\]/g, '\\$&')}"`).join(' ')}`;
};
