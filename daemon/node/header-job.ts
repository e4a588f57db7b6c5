// Job that reads the header From of mail that earlier versions held. It is over once there is none left, and begins again with the node.
import type {Logger} from 'pino';
import type {HeadersRead} from '../hold/held-headers.ts';
import type {NodeDirectory} from '../services/cluster/membership.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {Job} from './jobs.ts';

interface Needs {
  readFrom(): Promise<HeadersRead>;
  /** Whether more such mail may come: from a node of an earlier version, or from a Postfix whose mail could not be read at first. */
  mayCome(): boolean;
  log: Pick<Logger, 'info'>;
}

export const createHeaderJob = ({readFrom, mayCome, log}: Needs): Job => {
  let left = Infinity;
  return {
    everyMs: 5_000,
    what: 'reading the headers of mail that an earlier version held',
    mayBeCutOff: true,
    async run() {
      left = Infinity;
      const done = await readFrom();
      left = done.left;
      if (done.read > 0) log.info({read: done.read}, 'the header From was read in mail that an earlier version held');
    },
    isOver: () => left === 0 && !mayCome(),
  };
};

/** Whether a member may be of a version that does not read the header From of what it holds. 0.9 sends its problems, even if none. */
export const hasEarlierMember = (
  {nodeDirectory, peerStates}: {nodeDirectory: Pick<NodeDirectory, 'list'>; peerStates: Pick<PeerStates, 'latest'>},
  ownId: string,
): boolean => nodeDirectory.list().some(({id, node_id}) => node_id !== ownId && peerStates.latest(id)?.problems === undefined);
