// The last that was heard from each peer, so that a node which has just started can tell of one that is away.
import type {Db} from './database.ts';

interface PeerReportRow {
  node_no: number;
  last_seen: string;
  report: string;
}

export interface PeerReport {
  node_no: number;
  last_seen: string;
  report: unknown;
}

export const listPeerReports = async (db: Db): Promise<PeerReport[]> =>
  (await db<PeerReportRow>('peer_report')).map(({node_no, last_seen, report}) => ({
    node_no: Number(node_no),
    last_seen,
    report: JSON.parse(report),
  }));

export const savePeerReports = async (tx: Db, reports: PeerReport[]): Promise<void> => {
  for (const {node_no, last_seen, report} of reports)
    await tx<PeerReportRow>('peer_report')
      .insert({node_no, last_seen, report: JSON.stringify(report)})
      .onConflict('node_no')
      .merge();
};

/** Forgets what was heard from nodes that are none any more. */
export const keepPeerReports = async (tx: Db, nodeNos: number[]): Promise<void> => {
  await tx<PeerReportRow>('peer_report').whereNotIn('node_no', nodeNos).delete();
};
