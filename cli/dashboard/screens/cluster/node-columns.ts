import type {Peer} from '../../../../shared/cluster-status.ts';
import {daysText, daysTone, type NodeFacts, nodeFields} from '../../../cluster/node-fields.ts';
import {screenColumns, type TuiColumn} from '../../list/list.ts';
import {alarmMarks} from './alarms.ts';
import type {CertificateEnd} from './cluster-sources.ts';

export interface ShownNodes extends Required<NodeFacts> {
  certificates: ReadonlyMap<string, CertificateEnd>;
}

/** Nodes renew what they have made themselves long before. */
const certificateDays = {warn: 21, bad: 7};

export const nodeColumns = (facts: ShownNodes): TuiColumn<Peer>[] => {
  const {certificates, nowMs} = facts;
  const {license, api, license_expires, ...others} = nodeFields(facts);
  const alarms = alarmMarks(facts.status);
  return [
    {
      title: ' ',
      width: 1,
      cell: ({node_id}) => alarms.get(node_id)?.mark ?? ' ',
      style: ({node_id}) => alarms.get(node_id)?.tone,
    },
    ...screenColumns<Peer, unknown>(Object.values(others), undefined),
    {
      title: 'CERT',
      width: 7,
      align: 'right',
      dropRank: 6,
      cell: peer => certificateText(certificates.get(peer.node_id), nowMs),
      style: peer => daysTone(certificates.get(peer.node_id)?.endsAtMs, nowMs, certificateDays),
    },
    ...screenColumns<Peer, unknown>([license_expires, license, api], undefined),
  ];
};

/** `?` where it could not be read, or shows what is not to be trusted. */
export const certificateText = (end: CertificateEnd | undefined, nowMs: number): string => {
  if (end === undefined) return '…';
  if (end.endsAtMs === undefined || end.problem !== undefined) return '?';
  return daysText(end.endsAtMs, nowMs);
};
