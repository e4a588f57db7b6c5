// Groups of stock symbols, for the reason of a hold. Symbols of Rspamd before 3.5 have no group, those of SpamAssassin never.

/**
 * The group of a stock symbol of Rspamd or SpamAssassin, if the group matters for a reason; else undefined.
 * Sources: Rspamd's scores.d, modules.d and lua_scanners, SpamAssassin's 20_dnsbl_tests.cf and 25_uribl.cf.
 */
export const groupOfSymbol = (name: string): string | undefined => patterns.find(([, pattern]) => pattern.test(name))?.[0];

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
