// What other nodes and people have to know of the settings for DMARC reports on this node.
import {createHash} from 'node:crypto';
import type {DmarcState} from '../services/cluster/peer-protocol.ts';
import type {Base} from './base.ts';

export const createDmarcState = ({
  config: {dmarc},
  records: {domainDirectory},
}: Pick<Base, 'config' | 'records'>): (() => DmarcState) => {
  const config = createHash('sha256').update(JSON.stringify(dmarc)).digest('hex').slice(0, 16);
  const isWanted = () => domainDirectory.list().some(({dmarc_reporting}) => dmarc_reporting);
  return () => ({config, is_unset: dmarc.report_from === undefined && isWanted()});
};
