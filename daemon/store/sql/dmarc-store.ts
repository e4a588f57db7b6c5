// Counts of received mail for aggregate reports, and the reports.
import {maxSources} from '../../../shared/dmarc-report.ts';
import type {MailCount} from '../../services/dmarc/counted-mail.ts';
import type {
  Batch,
  DmarcStore,
  NodeCount,
  ReportAddress,
  ReportSubject,
  SourceSummary,
  StoredReport,
  Summary,
} from '../../services/dmarc/dmarc-store.ts';
import {type Db, insertOf, query} from './db.ts';

/** `batch` is empty, and `holder` null, while mails are still counted in the row. */
const countColumns = [
  ...['day', 'domain', 'policy_domain', 'source_ip', 'disposition', 'dkim_aligned', 'spf_aligned', 'details'],
  ...['digest', 'count', 'policy', 'seen_at', 'origin', 'batch', 'holder', 'held_at', 'is_offered', 'is_confirmed'],
];
const reportColumns = [
  ...['id', 'day', 'policy_domain', 'holder', 'state', 'addresses', 'count', 'created_at', 'attempts', 'next_at', 'ended_at'],
];

type CountRow = Omit<NodeCount, 'details' | 'policy'> & {details: string; policy: string | null};
type ReportRow = Omit<StoredReport, 'addresses'> & {addresses: string};

export const dmarcStore = (db: Db): DmarcStore => ({
  ...countReads(db),
  ...countWrites(db),
  ...reportStore(db),
  async adopt(living, to) {
    const isLeft = `holder IS NOT NULL AND holder NOT IN (${db.dialect.values('bigint')})`;
    const values = [to, db.dialect.json(living)];
    await query(db, `UPDATE dmarc_count SET holder = ? WHERE ${isLeft} AND report IS NULL`, values);
    await query(db, `UPDATE dmarc_report SET holder = ? WHERE ${isLeft} AND state = 'waiting'`, values);
  },
  async forget(day) {
    await query(db, 'DELETE FROM dmarc_count WHERE day < ?', [day]);
    await query(db, 'DELETE FROM dmarc_report WHERE day < ?', [day]);
    await query(db, 'DELETE FROM dmarc_refusal WHERE at < ?', [day]);
  },
});

const ofSubject = 'day = ? AND policy_domain = ?';
const ofBatch = "batch = ? AND batch <> ''";
const open = {batch: '', holder: null, held_at: null, is_offered: false, is_confirmed: false};
const taken = {is_offered: false, is_confirmed: true};

/** Of one node, or of all. */
const by = (origin: number | undefined) =>
  origin === undefined ? {sql: '', values: []} : {sql: ' AND origin = ?', values: [origin]};

const countReads = (db: Db) => {
  const subjects = async (condition: string, values: readonly (string | number)[]): Promise<ReportSubject[]> =>
    query(db, `SELECT DISTINCT day, policy_domain FROM dmarc_count WHERE ${condition} ORDER BY day, policy_domain`, values);
  const counts = async (condition: string, values: readonly (string | number)[], limit = ''): Promise<NodeCount[]> => {
    const sql = `SELECT * FROM dmarc_count WHERE ${condition} ORDER BY digest, origin, batch ${limit}`;
    const rows = await query<CountRow>(db, sql, values);
    return rows.map(fromCountRow);
  };

  return {
    async openSubjects(day, origin) {
      const {sql, values} = by(origin);
      return subjects(`batch = '' AND policy_domain <> '' AND day < ?${sql}`, [day, ...values]);
    },
    unconfirmed: async origin =>
      query<Batch>(
        db,
        `SELECT DISTINCT day, policy_domain, batch, holder, held_at FROM dmarc_count
         WHERE origin = ? AND batch <> '' AND NOT is_confirmed ORDER BY batch`,
        [origin],
      ),
    unconfirmedCounts: async (batch, limit) => counts(`${ofBatch} AND NOT is_confirmed`, [batch], `LIMIT ${limit}`),
    async isOffered(batch) {
      const sql = `SELECT 1 FROM dmarc_count WHERE ${ofBatch} AND NOT is_confirmed AND is_offered LIMIT 1`;
      return (await query(db, sql, [batch])).length > 0;
    },
    heldSubjects: async (holder, before) =>
      query(
        db,
        `SELECT day, policy_domain FROM dmarc_count WHERE holder = ? AND holder IS NOT NULL AND report IS NULL
         GROUP BY day, policy_domain HAVING max(held_at) <= ? ORDER BY day, policy_domain`,
        [holder, before],
      ),
    heldCounts: async ({day, policy_domain}, holder) =>
      counts(`${ofSubject} AND holder = ? AND report IS NULL`, [day, policy_domain, holder], db.dialect.lease.locking),
    reportedCounts: async id => counts('report = ?', [id]),
    async countsAbout({day, policy_domain}, origin) {
      const {sql, values} = by(origin);
      return counts(`${ofSubject}${sql}`, [day, policy_domain, ...values]);
    },

    async summary({domain, since, origin}) {
      const {sql, values} = by(origin);
      const found = `FROM dmarc_count WHERE domain = ? AND day >= ?${sql}`;
      const bound = [domain, since, ...values];
      const [total] = await query<Omit<Summary, 'sources'>>(
        db,
        `SELECT ${sums}, count(DISTINCT source_ip) AS source_count ${found}`,
        bound,
      );
      const sources = await query<SourceSummary>(
        db,
        `SELECT source_ip, ${sums} ${found} GROUP BY source_ip ORDER BY count DESC, source_ip LIMIT ${maxSources}`,
        bound,
      );
      return {count: total?.count ?? 0, passed: total?.passed ?? 0, source_count: total?.source_count ?? 0, sources};
    },
  } satisfies Partial<DmarcStore>;
};

const countWrites = (db: Db) => {
  const {dialect} = db;
  const insertCounts = async (rows: readonly object[], onConflict: string): Promise<unknown> =>
    query(db, `${insertOf(dialect, 'dmarc_count', countColumns)} ON CONFLICT (day, digest, origin, batch) ${onConflict}`, [
      dialect.json(rows),
    ]);

  return {
    async add(added, origin) {
      const rows = added.map(count => ({...toCountRow(count), origin, ...open}));
      const adding = 'count = dmarc_count.count + excluded.count, policy = excluded.policy, seen_at = excluded.seen_at';
      await insertCounts(rows, `DO UPDATE SET ${adding}`);
    },
    async assign({day, policy_domain, batch, holder, held_at}, origin) {
      const {sql, values} = by(origin);
      const setting = 'batch = ?, holder = ?, held_at = ?, is_confirmed = ?';
      await query(db, `UPDATE dmarc_count SET ${setting} WHERE ${ofSubject} AND batch = ''${sql}`, [
        ...[batch, holder, held_at, origin === undefined || origin === holder, day, policy_domain],
        ...values,
      ]);
    },
    async offer(batch) {
      await query(db, `UPDATE dmarc_count SET is_offered = true WHERE ${ofBatch} AND NOT is_confirmed`, [batch]);
    },
    async reassign(batch, holder) {
      const setting = 'holder = ?, is_offered = false, is_confirmed = (origin = ?)';
      const sql = `UPDATE dmarc_count SET ${setting} WHERE ${ofBatch} AND NOT is_confirmed`;
      await query(db, sql, [holder, holder, batch]);
    },
    async confirm(batch, digests) {
      const among = digests ? ` AND digest IN (${dialect.values('text')})` : '';
      const sql = `UPDATE dmarc_count SET is_confirmed = true WHERE ${ofBatch} AND NOT is_confirmed${among}`;
      await query(db, sql, [batch, ...(digests ? [dialect.json(digests)] : [])]);
    },
    async take({batch, holder, held_at}, counts) {
      const rows = counts.map(count => ({...toCountRow(count), origin: count.origin, batch, holder, held_at, ...taken}));
      await insertCounts(rows, 'DO NOTHING');
    },
  } satisfies Partial<DmarcStore>;
};

const reportStore = (db: Db) => {
  const {dialect} = db;
  const reports = async (condition: string, values: readonly (string | number)[]): Promise<StoredReport[]> =>
    (await query<ReportRow>(db, `SELECT * FROM dmarc_report ${condition}`, values)).map(fromReportRow);
  const close = async ({day, policy_domain}: ReportSubject, holder: number, report: string): Promise<void> => {
    const sql = `UPDATE dmarc_count SET report = ? WHERE ${ofSubject} AND holder = ? AND report IS NULL`;
    await query(db, sql, [report, day, policy_domain, holder]);
  };

  return {
    async listReports({limit, offset}) {
      const [[{total} = {total: 0}], page] = await Promise.all([
        query<{total: number}>(db, 'SELECT count(*) AS total FROM dmarc_report'),
        reports('ORDER BY created_at DESC, id LIMIT ? OFFSET ?', [limit, offset]),
      ]);
      return {reports: page, total};
    },
    dueReports: async (holder, now) =>
      reports("WHERE holder = ? AND state = 'waiting' AND next_at <= ? ORDER BY next_at LIMIT 10", [holder, now]),
    async hasRefused({address, policy_domain}, since) {
      const sql = 'SELECT 1 FROM dmarc_refusal WHERE address = ? AND policy_domain = ? AND at >= ?';
      return (await query(db, sql, [address, policy_domain, since])).length > 0;
    },
    async noteRefusal({address, policy_domain}, at) {
      const sql = `INSERT INTO dmarc_refusal (address, policy_domain, at) VALUES (?, ?, ?)
        ON CONFLICT (address, policy_domain) DO UPDATE SET at = excluded.at`;
      await query(db, sql, [address, policy_domain, at]);
    },
    async insertReport(report) {
      // Another node may have begun the same report, before its counts were taken over.
      const inserting = `${insertOf(dialect, 'dmarc_report', reportColumns)} ON CONFLICT (id) DO NOTHING`;
      await query(db, inserting, [dialect.json([toReportRow(report)])]);
      await close(report, report.holder, report.id);
    },
    leaveOut: async (subject, holder) => close(subject, holder, ''),
    async updateReport(report) {
      const {id, state, addresses, attempts, next_at, ended_at} = report;
      const setting = 'state = ?, addresses = ?, attempts = ?, next_at = ?, ended_at = ?';
      const sql = `UPDATE dmarc_report SET ${setting} WHERE id = ? AND state = 'waiting'`;
      await query(db, sql, [state, JSON.stringify(addresses), attempts, next_at, ended_at, id]);
    },
  } satisfies Partial<DmarcStore>;
};

const sumIf = (condition: string, name: string): string =>
  `CAST(sum(CASE WHEN ${condition} THEN count ELSE 0 END) AS bigint) AS ${name}`;
const sums = [
  'CAST(sum(count) AS bigint) AS count',
  sumIf('spf_aligned', 'spf_aligned'),
  sumIf('dkim_aligned', 'dkim_aligned'),
  sumIf('spf_aligned OR dkim_aligned', 'passed'),
  sumIf("disposition = 'quarantine'", 'held'),
  sumIf("disposition = 'reject'", 'rejected'),
].join(', ');

const toCountRow = ({details, policy, ...count}: MailCount): Omit<CountRow, 'origin' | 'batch'> => ({
  ...count,
  details: JSON.stringify(details),
  policy: policy && JSON.stringify(policy),
});

const fromCountRow = ({details, policy, dkim_aligned, spf_aligned, ...row}: CountRow): NodeCount => ({
  ...row,
  dkim_aligned: Boolean(dkim_aligned),
  spf_aligned: Boolean(spf_aligned),
  details: JSON.parse(details) as NodeCount['details'],
  policy: policy === null ? null : (JSON.parse(policy) as NodeCount['policy']),
});

const toReportRow = ({addresses, ...report}: StoredReport): ReportRow => ({...report, addresses: JSON.stringify(addresses)});
const fromReportRow = ({addresses, ...row}: ReportRow): StoredReport => ({
  ...row,
  addresses: JSON.parse(addresses) as ReportAddress[],
});
