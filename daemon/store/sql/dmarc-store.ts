// Counts of received mail for aggregate reports, and the reports.
import {maxSources} from '../../../shared/dmarc-lists.ts';
import type {MailCount} from '../../services/dmarc/counted-mail.ts';
import type {
  DmarcStore,
  NodeCount,
  ReportAddress,
  SourceSummary,
  StoredReport,
  Summary,
} from '../../services/dmarc/dmarc-store.ts';
import {type Db, insertOf, query} from './db.ts';

/** The table has more columns: nodes of 0.8, which gave counts to each other, need them on one PostgreSQL. */
const countColumns = [
  ...['day', 'domain', 'policy_domain', 'source_ip', 'disposition', 'dkim_aligned', 'spf_aligned', 'details'],
  ...['digest', 'count', 'policy', 'seen_at', 'origin', 'batch', 'is_offered', 'is_confirmed'],
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
    const isLeft = `holder NOT IN (${db.dialect.values('bigint')})`;
    await query(db, `UPDATE dmarc_report SET holder = ? WHERE ${isLeft} AND state = 'waiting'`, [to, db.dialect.json(living)]);
  },
  async forget(day) {
    await query(db, 'DELETE FROM dmarc_count WHERE day < ?', [day]);
    await query(db, 'DELETE FROM dmarc_report WHERE day < ?', [day]);
    await query(db, 'DELETE FROM dmarc_refusal WHERE at < ?', [day]);
  },
});

const ofSubject = 'day = ? AND policy_domain = ?';
/** Counts that a node of 0.8 has offered to another one are reported by that one, whether it has got them or not: never twice. */
const unreported = 'report IS NULL AND NOT is_offered';
/** No node of 0.8 offers them. */
const kept = {is_offered: false, is_confirmed: true};

/** Of one node, or of all. */
const by = (origin: number | undefined) =>
  origin === undefined ? {sql: '', values: []} : {sql: ' AND origin = ?', values: [origin]};

const countsWhere = async (db: Db, condition: string, values: readonly (string | number)[]): Promise<NodeCount[]> => {
  const sql = `SELECT * FROM dmarc_count WHERE ${condition} ORDER BY digest, origin, batch`;
  return (await query<CountRow>(db, sql, values)).map(fromCountRow);
};

const countReads = (db: Db) =>
  ({
    unreported: async day =>
      query(
        db,
        `SELECT DISTINCT day, policy_domain FROM dmarc_count WHERE ${unreported} AND policy_domain <> '' AND day < ?
         ORDER BY day, policy_domain`,
        [day],
      ),
    reportedCounts: async id => countsWhere(db, 'report = ?', [id]),
    async countsAbout({day, policy_domain}, origin) {
      const {sql, values} = by(origin);
      return countsWhere(db, `${ofSubject}${sql}`, [day, policy_domain, ...values]);
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
  }) satisfies Partial<DmarcStore>;

const countWrites = (db: Db) => {
  const {dialect} = db;
  const insertCounts = async (rows: readonly object[], onConflict: string): Promise<unknown> =>
    query(db, `${insertOf(dialect, 'dmarc_count', countColumns)} ON CONFLICT (day, digest, origin, batch) ${onConflict}`, [
      dialect.json(rows),
    ]);

  return {
    async add(added, origin) {
      const rows = added.map(count => ({...toCountRow(count), origin, batch: '', ...kept}));
      const adding = 'count = dmarc_count.count + excluded.count, policy = excluded.policy, seen_at = excluded.seen_at';
      await insertCounts(rows, `DO UPDATE SET ${adding}`);
    },
    async take(counts) {
      const rows = counts.map(({origin, batch, ...count}) => ({...toCountRow(count), origin, batch, ...kept}));
      await insertCounts(rows, 'DO NOTHING');
    },
    async claim({day, policy_domain}, batch) {
      const setting = "report = ?, batch = CASE batch WHEN '' THEN ? ELSE batch END";
      const sql = `UPDATE dmarc_count SET ${setting} WHERE ${ofSubject} AND policy_domain <> '' AND ${unreported}`;
      await query(db, sql, [batch, batch, day, policy_domain]);
      return countsWhere(db, 'report = ?', [batch]);
    },
  } satisfies Partial<DmarcStore>;
};

const reportStore = (db: Db) => {
  const {dialect} = db;
  const reports = async (condition: string, values: readonly (string | number)[]): Promise<StoredReport[]> =>
    (await query<ReportRow>(db, `SELECT * FROM dmarc_report ${condition}`, values)).map(fromReportRow);
  const close = async (batch: string, report: string): Promise<unknown> =>
    query(db, 'UPDATE dmarc_count SET report = ? WHERE report = ?', [report, batch]);

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
    async insertReport(report, batch) {
      await query(db, insertOf(dialect, 'dmarc_report', reportColumns), [dialect.json([toReportRow(report)])]);
      await close(batch, report.id);
    },
    async leaveOut(batch) {
      await close(batch, '');
    },
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
