// Reason for holding a mail, derived from the matching rules.
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {Reason} from '../../../shared/reason.ts';
import {groupOfSymbol} from './symbol-group.ts';

/** Score by group, as Rspamd reports it for `Flags: groups`. */
export type GroupScores = Readonly<Record<string, number>>;

/**
 * `sandbox` if a symbol of an antivirus or external service scored above 0; else `phishing` if one of a phishing group did;
 * else `rbl` if lists of addresses and URIs have the largest share of the scores above 0; else `spam`.
 * `groups` covers symbols that an operator named; symbols show scores that a whitelisting symbol of the same group hides.
 */
export const reasonOf = (symbols: readonly SymbolScore[], groups: GroupScores = {}): Reason => {
  const shares = sharesOf(symbols, groups);
  const has = (isWanted: (group: string) => boolean) => [...shares.keys()].some(isWanted);

  if (has(group => sandboxGroups.has(group))) return 'sandbox';
  if (has(group => group.includes('phish'))) return 'phishing';

  let lists = 0;
  let largestOther = 0;
  for (const [group, share] of shares) {
    if (listGroups.has(group)) lists += share;
    else if (!listSubgroups.has(group)) largestOther = Math.max(largestOther, share);
  }
  return lists > 0 && lists >= largestOther ? 'rbl' : 'spam';
};

const sandboxGroups = new Set(['antivirus', 'external_services']);
const listGroups = new Set(['rbl', 'surbl']);

/** Rspamd counts the symbols of a list a second time in these: see `groups` in its scores.d/rbl_group.conf and surbl_group.conf. */
const listSubgroups = new Set([
  'blocked',
  'blocklistde',
  'dnswl',
  'ebl',
  'mailspike',
  'rspamdbl',
  'sem',
  'spamhaus',
  'surblorg',
  'uribl',
]);

/** The sum of the scores above 0 of each group. */
const sharesOf = (symbols: readonly SymbolScore[], groups: GroupScores): Map<string, number> => {
  const hasGroups = Object.keys(groups).length > 0;
  const shares = new Map<string, number>();
  for (const {name, score} of symbols) {
    if (!(score > 0)) continue;
    // A symbol that is not in the table belongs to a reported group, and must not count twice.
    const group = groupOfSymbol(name) ?? (hasGroups ? undefined : 'unknown');
    if (group !== undefined) shares.set(group, (shares.get(group) ?? 0) + score);
  }
  for (const [name, score] of Object.entries(groups)) {
    const group = name.toLowerCase();
    if (score > 0) shares.set(group, Math.max(shares.get(group) ?? 0, score));
  }
  return shares;
};
