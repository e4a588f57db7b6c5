// Taking over what another node has and this one has not, record by record.
import type {ConfigRecord, RecordKey} from '../store/sqlite/config-record.ts';
import type {Refusals} from './refusals.ts';
import type {Replication} from './replication.ts';

/** Another node's records, asked for over the wire. */
export interface RemoteRecords {
  readonly nodeNo: number;
  readonly nodeId: string;
  digests(): Promise<Map<string, RecordKey & {digest: string}>>;
  records(keys: RecordKey[]): Promise<ConfigRecord[]>;
}

export interface TakeOver {
  /** What is not the same there as here. */
  differing(peer: RemoteRecords): Promise<RecordKey[]>;
  /** Merges that, as far as the peer is believed; resolves with what has changed here. */
  from(peer: RemoteRecords, path: 'repair' | 'snapshot'): Promise<RecordKey[]>;
}

interface Needs {
  replication: Replication;
  refusals: Pick<Refusals, 'ofPeer'>;
}

const recordsPerRequest = 250;

export const createTakeOver = ({replication, refusals}: Needs): TakeOver => {
  const differing: TakeOver['differing'] = async peer => {
    const own = await collectDigests(async after => replication.digestsPage(after));
    const theirs = await peer.digests();
    const keys = new Map([...own, ...theirs]);
    return [...keys].filter(([name]) => own.get(name)?.digest !== theirs.get(name)?.digest).map(([, {kind, id}]) => ({kind, id}));
  };

  return {
    differing,
    async from(peer, path) {
      const keys = await differing(peer);
      const taken: RecordKey[] = [];
      const left: string[] = [];
      for (let from = 0; from < keys.length; from += recordsPerRequest) {
        const records = await peer.records(keys.slice(from, from + recordsPerRequest));
        const {changed, leftOut} = await replication.merge(records, {node: peer, path});
        taken.push(...changed.map(({after: {kind, id}}) => ({kind, id})));
        if (leftOut !== '') left.push(leftOut);
      }
      refusals.ofPeer(peer.nodeNo, 'records', left.length === 0 ? undefined : left.join(', '));
      return taken;
    },
  };
};

/** All pages of digests, by the name of the record. */
export const collectDigests = async (
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
