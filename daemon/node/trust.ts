// Trust of a node: its own certificates, the authority of its cluster, and the names in its certificates.

import {readFile} from 'node:fs/promises';
import type {Logger} from 'pino';
import type {NodeIdentity} from '../services/access/actor.ts';
import {describedNames, ownNames} from '../services/cluster/certificate-names.ts';
import {openCertificates} from './certificate-renewal.ts';
import {createCutOff} from './cut-off.ts';
import type {DataFolder} from './data-folder.ts';
import type {RunningConfig} from './live-settings.ts';
import type {Records} from './records.ts';
import {apiHosts, authorityIn} from './tls-files.ts';

interface Needs {
  folder: DataFolder;
  identity: NodeIdentity;
  running: Pick<RunningConfig, 'config'>;
  records: Pick<Records, 'nodeDirectory' | 'membership'>;
  log: Logger;
  now: () => number;
}

export type Trust = Awaited<ReturnType<typeof openTrust>>;

export const openTrust = async ({folder, identity, running, records: {nodeDirectory, membership}, log, now}: Needs) => {
  const authority = async () => authorityIn(folder, now);
  const hasAuthority = (await authority()) !== undefined;
  // A node asks once for names that the authority refuses. The node with the authority asks nobody.
  const subject = {node_id: identity.nodeId, isColocated: () => false};
  const certificates = await openCertificates({
    folder,
    identity,
    config: running.config,
    hosts(currentNames) {
      const wanted = apiHosts(running.config());
      return hasAuthority ? wanted : ownNames(wanted, describedNames(nodeDirectory.list()), {...subject, currentNames});
    },
    authority,
    now,
  });
  const cutOff = createCutOff({since: () => (membership.isRemoved() ? undefined : certificates.cutOffSince()), log});
  return {
    authority,
    /** Whether this node can issue certificates. */
    hasAuthority,
    /** Certificate of the cluster's authority, PEM. */
    ca: await readFile(folder.caCert, 'utf8'),
    certificates,
    cutOff,
  };
};
