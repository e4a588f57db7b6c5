// Waiting until a change of this node is in the memory of all nodes.
import {setTimeout as delay} from 'node:timers/promises';
import type {NodeDirectory} from '../services/cluster/membership.ts';
import type {CommonStore} from '../services/common-store.ts';
import type {AwaitReplication} from '../services/ports.ts';

interface Needs {
  store: Pick<CommonStore, 'presence'>;
  directory: Pick<NodeDirectory, 'list'>;
  nodeNo: number;
  /** The number of the last change of this node. */
  lastSeq(): number;
  monotonic(): number;
}

const patienceMs = 2000;
const pollMs = 50;
/** Twice the time after which a node that lost its store trusts nothing in its memory. It is not waited for, but named. */
const silentAfterSeconds = 10;

export const createAwaitReplication = ({store, directory, nodeNo, lastSeq, monotonic}: Needs): AwaitReplication => {
  const others = () => directory.list().filter(({id}) => id !== nodeNo);

  /** The other nodes that are not known to have the change. */
  const behind = async (seq: number) => {
    const present = new Map((await store.presence()).map(one => [one.node_no, one]));
    return others()
      .filter(({id}) => (present.get(id)?.seq ?? -1) < seq)
      .map(({id, node_id}) => {
        const age = present.get(id)?.ageSeconds;
        return {node_id, isWorthWaiting: age !== undefined && age < silentAfterSeconds};
      });
  };

  return async () => {
    const seq = lastSeq();
    const endsAtMs = monotonic() + patienceMs;
    let late = others().map(({node_id}) => ({node_id, isWorthWaiting: true}));
    while (late.some(({isWorthWaiting}) => isWorthWaiting)) {
      const remainingMs = endsAtMs - monotonic();
      if (remainingMs <= 0) break;
      // A store that does not answer cannot say that any node has the change.
      const found = await Promise.race([behind(seq).catch(() => late), delay(remainingMs, late, {ref: false})]);
      late = found;
      if (late.some(({isWorthWaiting}) => isWorthWaiting)) await delay(pollMs);
    }
    return late.map(({node_id}) => node_id).sort();
  };
};
