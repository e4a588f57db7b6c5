import {z} from 'zod';
import {changeSchema, digestsPageSchema} from '../services/cluster/peer-protocol.ts';
import type {RemoteRecords} from '../services/cluster/replication-ports.ts';
import type {Peer} from './peers.ts';

const deadlineMs = 10_000;

/** Records of a peer, for comparison with those of this node. */
export const remoteRecords = ({nodeNo, nodeId, client}: Peer): RemoteRecords => ({
  nodeNo,
  nodeId,
  digestsPage: async after =>
    client.ask(digestsPageSchema, {
      method: 'GET',
      path: `digests${after ? `?kind=${after.kind}&id=${after.id}` : ''}`,
      deadlineMs,
    }),
  records: async keys => client.ask(z.array(changeSchema), {method: 'POST', path: 'records', body: {keys}, deadlineMs}),
});
