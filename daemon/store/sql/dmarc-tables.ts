// Tables of the counts and reports of DMARC, as both makes create them.

/** `text`: the type of texts that are compared byte by byte. */
export const dmarcTables = (text: string): string[] => [
  `CREATE TABLE dmarc_count (
    day ${text} NOT NULL, digest ${text} NOT NULL, origin bigint NOT NULL, batch ${text} NOT NULL, domain ${text} NOT NULL,
    policy_domain ${text} NOT NULL, source_ip ${text} NOT NULL, disposition ${text} NOT NULL, dkim_aligned boolean NOT NULL,
    spf_aligned boolean NOT NULL, details ${text} NOT NULL, count bigint NOT NULL, policy ${text}, seen_at ${text} NOT NULL,
    holder bigint, held_at ${text}, is_offered boolean NOT NULL, is_confirmed boolean NOT NULL, report ${text},
    PRIMARY KEY (day, digest, origin, batch)
  )`,
  "CREATE INDEX dmarc_count_open ON dmarc_count (day, policy_domain) WHERE batch = '' AND policy_domain <> ''",
  "CREATE INDEX dmarc_count_by_batch ON dmarc_count (batch) WHERE batch <> ''",
  "CREATE INDEX dmarc_count_unconfirmed ON dmarc_count (origin) WHERE batch <> '' AND NOT is_confirmed",
  'CREATE INDEX dmarc_count_held ON dmarc_count (holder, day, policy_domain) WHERE holder IS NOT NULL AND report IS NULL',
  'CREATE INDEX dmarc_count_by_report ON dmarc_count (report)',
  'CREATE INDEX dmarc_count_by_domain ON dmarc_count (domain, day)',
  `CREATE TABLE dmarc_report (
    id ${text} PRIMARY KEY, day ${text} NOT NULL, policy_domain ${text} NOT NULL, holder bigint NOT NULL, state ${text} NOT NULL,
    addresses ${text} NOT NULL, count bigint NOT NULL, created_at ${text} NOT NULL, attempts bigint NOT NULL, next_at ${text} NOT NULL,
    ended_at ${text}
  )`,
  'CREATE INDEX dmarc_report_by_time ON dmarc_report (created_at DESC, id)',
  `CREATE TABLE dmarc_refusal (address ${text} NOT NULL, policy_domain ${text} NOT NULL, at ${text} NOT NULL, PRIMARY KEY (address, policy_domain))`,
  "CREATE INDEX dmarc_report_due ON dmarc_report (holder, next_at) WHERE state = 'waiting'",
];

/** Indexes for what a store reports itself, in place of those for counts that nodes of 0.8 gave to each other. */
export const reportIndexes = [
  'DROP INDEX dmarc_count_by_batch',
  'DROP INDEX dmarc_count_unconfirmed',
  // Most counts have no policy, so that they are never in a report.
  'DROP INDEX dmarc_count_by_report',
  'CREATE INDEX dmarc_count_reported ON dmarc_count (report) WHERE report IS NOT NULL',
  `CREATE INDEX dmarc_count_unreported ON dmarc_count (day, policy_domain)
   WHERE report IS NULL AND NOT is_offered AND policy_domain <> ''`,
];

/** Tables of the reports that were received. */
export const receivedTables = (text: string): string[] => [
  `CREATE TABLE dmarc_received (
    digest ${text} PRIMARY KEY, domain ${text} NOT NULL, day ${text} NOT NULL, reporter ${text} NOT NULL, is_verified boolean NOT NULL,
    received_at ${text} NOT NULL, source_count bigint NOT NULL
  )`,
  'CREATE INDEX dmarc_received_by_day ON dmarc_received (domain, day)',
  'CREATE INDEX dmarc_received_by_time ON dmarc_received (domain, received_at)',
  `CREATE TABLE dmarc_received_source (
    digest ${text} NOT NULL, source_ip ${text} NOT NULL, count bigint NOT NULL, passed bigint NOT NULL, spf_passed bigint NOT NULL,
    spf_aligned bigint NOT NULL, dkim_passed bigint NOT NULL, dkim_aligned bigint NOT NULL, PRIMARY KEY (digest, source_ip)
  )`,
];
