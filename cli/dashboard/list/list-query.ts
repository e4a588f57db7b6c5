import {ownValue} from '../../../shared/has-own.ts';

// Filter of a list as typed after `/`: `type:held,health node:mx1 words`. A row has to match all parts.

export interface ListQuery {
  /** As it was typed. */
  text: string;
  /** The values after the colon, by name; the last one of a repeated name. */
  terms: Readonly<Record<string, string>>;
  /** In lower case. */
  words: readonly string[];
}

/** Text without a name of `names` and a colon is a plain word. */
export const parseListFilter = (text: string, names: readonly string[]): ListQuery => {
  const terms: Record<string, string> = {};
  const words: string[] = [];
  for (const part of text.trim().split(/\s+/).filter(Boolean)) {
    const [, name = '', value = ''] = /^([a-z]+):(.*)$/.exec(part) ?? [];
    if (names.includes(name) && value !== '') terms[name] = value;
    else words.push(part.toLowerCase());
  }
  return {text: text.trim(), terms, words};
};

export const hasWords = (texts: readonly (string | null | undefined)[], words: readonly string[]): boolean => {
  if (words.length === 0) return true;
  const all = texts.join('\n').toLowerCase();
  return words.every(word => all.includes(word));
};

/** Whether a value is in a comma-separated list, ignoring case. */
export const isOneOf = (value: string | null, wanted: string | undefined): boolean =>
  wanted === undefined ||
  wanted
    .toLowerCase()
    .split(',')
    .includes((value ?? '').toLowerCase());

/** Completions of the typed text; `values` are the known ones of each name. */
export const completedQuery = (text: string, values: Readonly<Record<string, readonly string[]>>): string[] => {
  const [, before = '', part = ''] = /^(.*\s|)(\S*)$/.exec(text) ?? [];
  const [, name = '', start = ''] = /^([a-z]+):(.*)$/.exec(part) ?? [];
  const known = ownValue(values, name);
  if (known === undefined)
    return Object.keys(values)
      .filter(other => other.startsWith(part))
      .map(other => `${before}${other}:`);
  return [...new Set(known)]
    .filter(value => value.startsWith(start) && /^\S+$/.test(value))
    .sort()
    .map(value => `${before}${name}:${value}`);
};
