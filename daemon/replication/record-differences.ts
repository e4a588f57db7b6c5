// Differences between the records of this node and those of another: found by digests, then fetched and applied.

import type {Refusals} from '../services/cluster/refusals.ts';
import type {RemoteRecords, Replication} from '../services/cluster/replication-ports.ts';
import type {RecordKey} from '../services/records.ts';

export interface RecordDifferences {
  /** The records that differ between this node and the peer. */
  find(peer: RemoteRecords): Promise<RecordKey[]>;
  /** Fetches all differing records and applies those that the peer may change; resolves with what changed here. */
  apply(peer: RemoteRecords, path: 'repair' | 'snapshot'): Promise<RecordKey[]>;
}

interface Needs {
  replication: Replication;
  refusals: Pick<Refusals, 'ofPeer'>;
}

const recordsPerRequest = 250;

export const createRecordDifferences = ({replication, refusals}: Needs): RecordDifferences => {
  const find: RecordDifferences['find'] = async peer => {
    const own = await collectDigests(async after => replication.digestsPage(after));
    const theirs = await collectDigests(async after => peer.digestsPage(after));
    const keys = new Map([...own, ...theirs]);
    return [...keys].filter(([name]) => own.get(name)?.digest !== theirs.get(name)?.digest).map(([, {kind, id}]) => ({kind, id}));
  };

  return {
    find,
    async apply(peer, path) {
      const keys = await find(peer);
      const applied: RecordKey[] = [];
      const left: string[] = [];
      for (let from = 0; from < keys.length; from += recordsPerRequest) {
        const records = await peer.records(keys.slice(from, from + recordsPerRequest));
        const {changed, leftOut} = await replication.merge(records, {node: peer, path});
        applied.push(...changed.map(({after: {kind, id}}) => ({kind, id})));
        if (leftOut !== '') left.push(leftOut);
      }
      refusals.ofPeer(peer.nodeNo, 'records', left.length === 0 ? undefined : left.join(', '));
      return applied;
    },
  };
};

/** All pages of digests, by record name. */
const collectDigests = async (
  page: (after: RecordKey | undefined) => ReturnType<Replication['digestsPage']>,
): Promise<Map<string, RecordKey & {digest: string}>> => {
  const all = new Map<string, RecordKey & {digest: string}>();
  let after: RecordKey | undefined;
  do {
    const {digests, next} = await page(after);
    for (const [kind, id, digest] of digests) all.set(`${kind}/${id}`, {kind, id, digest});
    after = next ?? undefined;
  } while (after);
  return all;
};
