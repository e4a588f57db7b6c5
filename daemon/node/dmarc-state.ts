// Settings for DMARC reports on this node, as far as other nodes and people have to know them.
import {createHash} from 'node:crypto';
import {canonicalDomain} from '../../shared/domain-name.ts';
import type {DmarcState} from '../services/cluster/peer-protocol.ts';
import type {Base} from './base.ts';

/** The address that reports of this node come from; undefined if its name has no dot, as nobody could answer then. */
export const reportFromOf = ({settings, fqdn}: Pick<Base, 'settings' | 'fqdn'>): string | undefined => {
  const {report_from} = settings().dmarc;
  if (report_from !== undefined) return report_from;
  const host = canonicalDomain(fqdn);
  return host === undefined ? undefined : `dmarc-reports@${host}`;
};

export const createDmarcState = (base: Pick<Base, 'settings' | 'fqdn' | 'records'>): (() => DmarcState) => {
  const {
    settings,
    records: {domainDirectory},
  } = base;
  const isWanted = () => domainDirectory.list().some(({dmarc_reporting}) => dmarc_reporting);
  return () => ({
    config: createHash('sha256').update(JSON.stringify(settings().dmarc)).digest('hex').slice(0, 16),
    is_unset: reportFromOf(base) === undefined && isWanted(),
  });
};
