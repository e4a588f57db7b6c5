// Trust of a node: its own certificates, the authority of its cluster, and the names in its certificates.
import {readFile} from 'node:fs/promises';
import type {Logger} from 'pino';
import type {NodeIdentity} from '../services/actor.ts';
import {describedNames, ownNames} from '../services/cluster/certificate-names.ts';
import {createHourly} from '../services/hourly.ts';
import {openCertificates} from './certificate-renewal.ts';
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

interface CutOffNeeds {
  since(): Date | undefined;
  log: Logger;
  /** Milliseconds, by a clock that never jumps. */
  monotonic?: () => number;
}

export const createCutOff = ({since, log, monotonic = performance.now.bind(performance)}: CutOffNeeds) => {
  const isDue = createHourly(monotonic);
  const advice = () => {
    const end = since();
    return end && cutOffText(end);
  };
  return {
    /** ISO 8601; undefined while the certificate is valid. */
    since: (): string | undefined => since()?.toISOString(),
    /** Advice for the operator; undefined while the certificate is valid. */
    advice,
    /** Logs a failed renewal of a node that is cut off, at once and then once an hour. Returns false for any other node. */
    couldNotRenew(error: unknown): boolean {
      const text = advice();
      if (text === undefined) return false;
      if (isDue()) log.error({err: error}, text);
      return true;
    },
  };
};

const cutOffText = (end: Date): string =>
  `this node is cut off from the cluster: its certificate expired at ${end.toISOString()} and no other node has renewed it; mail goes on. Start the node that has tls/ca.key, or put that file into tls/ of this node for one start`;
