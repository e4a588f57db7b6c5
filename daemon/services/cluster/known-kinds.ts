// Guard against records that a member of an earlier version does not know. It would not store them, and its configuration would differ from
// that of the others for good.
import {Fault} from '../../../shared/fault.ts';
import type {Kind} from '../records.ts';
import type {NodeDirectory} from './membership.ts';
import type {PeerStates} from './peer-states.ts';

/** Throws a Fault `conflict` that names a member that does not know such records, by its own heartbeat. */
export type RequireKnownKind = (kind: Kind) => void;

interface Needs {
  directory: Pick<NodeDirectory, 'list'>;
  peerStates: Pick<PeerStates, 'latest'>;
}

/** A member without a heartbeat does not count: its version is not known, and it may be away for good. */
export const createKnownKinds =
  ({directory, peerStates}: Needs): RequireKnownKind =>
  kind => {
    for (const {id, node_id} of directory.list()) {
      const heartbeat = peerStates.latest(id);
      if (!heartbeat || heartbeat.kinds?.includes(kind)) continue;
      throw new Fault(
        'conflict',
        `node ${node_id} runs ${heartbeat.version}, which does not know records of the kind ${kind}; update it, or remove it from the cluster, first`,
      );
    }
  };
