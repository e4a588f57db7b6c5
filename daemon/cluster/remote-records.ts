import {z} from 'zod';
import {changeSchema, digestsPageSchema} from '../replication/peer-protocol.ts';
import {collectDigests, type RemoteRecords} from '../replication/record-differences.ts';
import type {Peer} from './peers.ts';

const deadlineMs = 10_000;

/** A peer's records, for comparing. */
export const remoteRecords = ({nodeNo, nodeId, client}: Peer): RemoteRecords => ({
  nodeNo,
  nodeId,
  digests: async () =>
    collectDigests(async after =>
      client.ask(digestsPageSchema, {
        method: 'GET',
        path: `digests${after ? `?kind=${after.kind}&id=${after.id}` : ''}`,
        deadlineMs,
      }),
    ),
  records: async keys => client.ask(z.array(changeSchema), {method: 'POST', path: 'records', body: {keys}, deadlineMs}),
});
