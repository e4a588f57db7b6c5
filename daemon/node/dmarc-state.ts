// Settings for DMARC reports on this node, as far as other nodes and people have to know them.
import {createHash} from 'node:crypto';
import {canonicalDomain} from '../../shared/domain-name.ts';
import type {DmarcState} from '../services/cluster/peer-protocol.ts';
import type {Base} from './base.ts';

/** The address that reports of this node come from; undefined if its name has no dot, as nobody could answer then. */
export const reportFromOf = ({config: {dmarc}, fqdn}: Pick<Base, 'config' | 'fqdn'>): string | undefined => {
  if (dmarc.report_from !== undefined) return dmarc.report_from;
  const host = canonicalDomain(fqdn);
  return host === undefined ? undefined : `dmarc-reports@${host}`;
};

export const createDmarcState = (base: Pick<Base, 'config' | 'fqdn' | 'records'>): (() => DmarcState) => {
  const {
    config: {dmarc},
    records: {domainDirectory},
  } = base;
  const hasAddress = reportFromOf(base) !== undefined;
  const config = createHash('sha256').update(JSON.stringify(dmarc)).digest('hex').slice(0, 16);
  const isWanted = () => domainDirectory.list().some(({dmarc_reporting}) => dmarc_reporting);
  return () => ({config, is_unset: !hasAddress && isWanted()});
};
