// Reason for holding a mail, derived from the matching rules.
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {Reason} from '../../../shared/reason.ts';

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

/**
 * The group of a stock symbol of Rspamd or SpamAssassin, if the group matters for a reason; else undefined.
 * Sources: Rspamd's scores.d, modules.d and lua_scanners, SpamAssassin's 20_dnsbl_tests.cf and 25_uribl.cf.
 */
const groupOfSymbol = (name: string): string | undefined => patterns.find(([, pattern]) => pattern.test(name))?.[0];

/** The order matters: PH_SURBL_MULTI is in the groups surbl and phishing, and phishing is more specific. */
const patterns: readonly [group: string, pattern: RegExp][] = [
  [
    'antivirus',
    /^(CLAM_VIRUS|CLAMAV|CLAM|FPROT|SOPHOS|SAVAPI|AVAST|AVIRA|KASPERSKY|KASPERSKY_SE|VIRUSTOTAL|METADEFENDER|ESET|BITDEFENDER|ANTIVIRUS)(_VIRUS|_MACRO|_ENCRYPTED|_FAIL)?$/,
  ],
  [
    'external_services',
    /^(OLETOOLS|OLETOOLS_MACRO_[A-Z]+|ICAP|DCC|DCC_REJECT|DCC_BULK|PYZOR|RAZOR|SPAMD|SPAMASSASSIN|P0F|CLOUDMARK_(CHECK|SPAM)|VADE_[A-Z_]+|CUCKOO|SANDBOX)(_MACRO|_ENCRYPTED|_FAIL)?$/,
  ],
  [
    'phishing',
    /^(PHISHING|PHISHED_[A-Z_]+|STRICT_PHISHING|STRICTER_PHISHING|HACKED_WP_PHISHING|REDIRECTOR_FALSE|PH_SURBL_MULTI)$/,
  ],
  ['rbl', /^(RBL_|RECEIVED_|RCVD_IN_|DNSWL_|DWL_|RWL_|MAILSPIKE)/],
  [
    'surbl',
    /^(URIBL_|DBL($|_)|MSBL_EBL|RSPAMD_(URIBL|EMAILBL)$|SEM_URIBL|SPAMHAUS_ZEN_URIBL$|(MW|JP|WS|AB|OB|SC)_SURBL_MULTI$|(ABUSE|CRACKED)_SURBL$|SURBL_)/,
  ],
];

/** A score beyond this is a bug or an attack, and exceeds every allowed threshold. */
const maxScore = 10_000;

/** Limits a score to ±10,000. The score may be infinite, but not NaN. */
export const boundScore = (score: number): number => Math.min(maxScore, Math.max(-maxScore, score));

/** Far more symbols than one mail can match in any filter. */
export const maxSymbols = 500;
