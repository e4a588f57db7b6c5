// Aggregate reports that were received.
import {groupBy} from '../../../shared/collections.ts';
import {maxSources} from '../../../shared/dmarc-lists.ts';
import {maxDomainReporters, maxReporters} from '../../../shared/reported-source.ts';
import type {
  ReceivedStore,
  Reported,
  ReportedChoice,
  ReportUse,
  StoredReceived,
  StoredSource,
} from '../../services/dmarc/received-store.ts';
import {type Db, insertOf, query} from './db.ts';

const reportColumns = ['digest', 'domain', 'day', 'reporter', 'is_verified', 'received_at', 'source_count'];
const counts = ['count', 'passed', 'spf_passed', 'spf_aligned', 'dkim_passed', 'dkim_aligned'];
const sourceColumns = ['digest', 'source_ip', ...counts];

/** Rows of one statement: all of a large report would be one text of many megabytes. */
const rowsAtOnce = 5000;

const sumOf = (column: string) => `CAST(coalesce(sum(${column}), 0) AS bigint) AS ${column}`;
const sums = counts.map(sumOf).join(', ');

export const receivedStore = (db: Db): ReceivedStore => ({
  isKnown: async reporter =>
    (await query(db, 'SELECT 1 AS found FROM dmarc_received WHERE reporter = ? AND is_verified LIMIT 1', [reporter])).length > 0,

  usage: async ({digest, domain}, since) =>
    (
      await query<ReportUse>(
        db,
        `SELECT reporter, is_verified, count(*) AS reports, CAST(sum(source_count) AS bigint) AS sources
         FROM dmarc_received WHERE domain = ? AND received_at >= ? AND digest <> ? GROUP BY reporter, is_verified`,
        [domain, since, digest],
      )
    ).map(use => ({...use, is_verified: Boolean(use.is_verified)})),

  async reported(choice) {
    const {condition, values} = chosen(db, choice);
    const found = `FROM dmarc_received AS r JOIN dmarc_received_source AS s ON s.digest = r.digest WHERE ${condition}`;
    // One after the other, on one connection.
    const digests = await query<{digest: string}>(
      db,
      `SELECT digest FROM dmarc_received AS r WHERE ${condition} ORDER BY digest`,
      values,
    );
    const [total] = await query<Omit<Reported, 'sources' | 'digests'>>(
      db,
      `SELECT ${sumOf('count')}, ${sumOf('passed')}, count(DISTINCT source_ip) AS source_count ${found}`,
      values,
    );
    // A forger may have many names, but not for long.
    const domainReporters = await query<Omit<ReporterRow, 'source_ip'> & {passed: number}>(
      db,
      `SELECT reporter, is_verified, ${sumOf('count')}, ${sumOf('passed')} ${found}
       GROUP BY reporter, is_verified ORDER BY count(DISTINCT r.day) DESC, reporter, is_verified LIMIT ${maxDomainReporters}`,
      values,
    );
    const sources = await query<StoredSource>(
      db,
      `SELECT source_ip, ${sums} ${found} GROUP BY source_ip ORDER BY count DESC, source_ip LIMIT ${maxSources}`,
      values,
    );
    const addresses = `source_ip IN (${db.dialect.values('text')})`;
    const reporters = await query<ReporterRow>(
      db,
      `SELECT source_ip, reporter, is_verified, ${sumOf('count')} ${found} AND ${addresses}
       GROUP BY source_ip, reporter, is_verified ORDER BY count DESC, reporter`,
      [...values, db.dialect.json(sources.map(({source_ip}) => source_ip))],
    );
    return {
      digests: digests.map(({digest}) => digest),
      ...{count: total?.count ?? 0, passed: total?.passed ?? 0, source_count: total?.source_count ?? 0},
      reporters: domainReporters.map(({reporter, is_verified, count, passed}) => ({
        ...{reporter, verified: Boolean(is_verified), count, passed},
      })),
      sources: withReporters(sources, reporters),
    };
  },

  async insert(report, sources) {
    const {digest} = report;
    const inserting = `${insertOf(db.dialect, 'dmarc_received', reportColumns)} ON CONFLICT (digest) DO NOTHING RETURNING digest`;
    if ((await query(db, inserting, [db.dialect.json([report])])).length === 0) return;
    const adding = `${insertOf(db.dialect, 'dmarc_received_source', sourceColumns)} ON CONFLICT (digest, source_ip) DO NOTHING`;
    for (let at = 0; at < sources.length; at += rowsAtOnce)
      await query(db, adding, [db.dialect.json(sources.slice(at, at + rowsAtOnce).map(source => ({...source, digest})))]);
  },

  async forget(day) {
    const old = 'SELECT digest FROM dmarc_received WHERE day < ?';
    await query(db, `DELETE FROM dmarc_received_source WHERE digest IN (${old})`, [day]);
    await query(db, 'DELETE FROM dmarc_received WHERE day < ?', [day]);
  },
});

type ReporterRow = Pick<StoredReceived, 'reporter' | 'is_verified'> & {source_ip: string; count: number};

const chosen = ({dialect}: Db, {domain, since, isVerified, without}: ReportedChoice) => ({
  condition: `r.domain = ? AND r.day >= ? AND r.digest NOT IN (${dialect.values('text')})${isVerified ? ' AND r.is_verified' : ''}`,
  values: [domain, since, dialect.json(without)],
});

const withReporters = (sources: readonly StoredSource[], reporters: readonly ReporterRow[]): Reported['sources'] => {
  const bySource = groupBy(reporters, ({source_ip}) => source_ip);
  return sources.map(source => ({
    ...source,
    reporters: (bySource.get(source.source_ip) ?? [])
      .slice(0, maxReporters)
      .map(({reporter, is_verified, count}) => ({reporter, verified: Boolean(is_verified), count})),
  }));
};
