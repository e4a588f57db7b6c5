// Trust store: data about the cluster that only this node has, namely join tokens, names in certificates, and the last report of
// each peer, so that a node that has just started can describe one that is unreachable.
import type {IssuedName, StoredJoinToken} from '../../services/cluster/stored-trust.ts';
import type {TrustStore} from '../../services/ports.ts';
import {type Db, query} from './db.ts';

interface PeerReportRow {
  node_no: number;
  last_seen: string;
  report: string;
}

export const trustStore = (db: Db): TrustStore => {
  const addIssuedNames: TrustStore['addIssuedNames'] = async names => {
    for (const {node_no, host} of names)
      await query(db, 'INSERT INTO issued_name (node_no, host) VALUES (?, ?) ON CONFLICT DO NOTHING', [node_no, host]);
  };
  return {
    findJoinToken: async id => (await query<StoredJoinToken>(db, 'SELECT * FROM join_token WHERE id = ?', [id]))[0],
    listIssuedNames: async () => query<IssuedName>(db, 'SELECT node_no, host FROM issued_name ORDER BY node_no, host'),
    async listPeerReports() {
      const rows = await query<PeerReportRow>(db, 'SELECT node_no, last_seen, report FROM peer_report');
      return rows.map(row => ({...row, report: JSON.parse(row.report)}));
    },
    addIssuedNames,
    async insertJoinToken({id, created_at, expires_at, used_at}) {
      const sql = 'INSERT INTO join_token (id, created_at, expires_at, used_at) VALUES (?, ?, ?, ?)';
      await query(db, sql, [id, created_at, expires_at, used_at]);
    },
    async useJoinToken(id, at) {
      const sql = 'UPDATE join_token SET used_at = ? WHERE id = ? AND used_at IS NULL AND expires_at > ? RETURNING id';
      return (await query(db, sql, [at, id, at])).length === 1;
    },
    forgetJoinTokens: async before => void (await query(db, 'DELETE FROM join_token WHERE expires_at < ?', [before])),
    async replaceIssuedNames(nodeNo, hosts) {
      await query(db, 'DELETE FROM issued_name WHERE node_no = ?', [nodeNo]);
      await addIssuedNames(hosts.map(host => ({node_no: nodeNo, host})));
    },
    async savePeerReports(reports) {
      const sql =
        'INSERT INTO peer_report (node_no, last_seen, report) VALUES (?, ?, ?) ON CONFLICT (node_no) DO UPDATE SET last_seen = excluded.last_seen, report = excluded.report';
      for (const {node_no, last_seen, report} of reports) await query(db, sql, [node_no, last_seen, JSON.stringify(report)]);
    },
    async keepPeerReports(nodeNos) {
      const {values, json} = db.dialect;
      await query(db, `DELETE FROM peer_report WHERE node_no NOT IN (${values('bigint')})`, [json(nodeNos)]);
    },
  };
};
