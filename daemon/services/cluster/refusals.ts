// Refusals of changes between nodes. The outbox of a refused node would grow unnoticed, and a revocation in it would not arrive, so
// both nodes report the refusal for as long as it lasts.

/** Whether changes were refused as events, or skipped in fetched records. */
type Path = 'events' | 'records';

export interface Refusals {
  /** This node refuses changes of `peer` because of `why`; with undefined it accepts them again. */
  ofPeer(peer: number, path: Path, why: string | undefined): void;
  /** Why this node refuses changes of `peer`; undefined if it accepts them. */
  whyOfPeer(peer: number): string | undefined;
  /** `peer` refuses changes of this node, according to its answer to events or its heartbeat; with undefined it accepts them again. */
  byPeer(peer: number, path: Path, why: string | undefined): void;
  /** The peers that refuse changes of this node. */
  peersThatRefuse(): number[];
}

export const createRefusals = (onChange: (refusal: {peer: number; why: string | undefined}) => void): Refusals => {
  const ofPeers = createReasons();
  const byPeers = createReasons();
  return {
    ofPeer: ofPeers.set,
    whyOfPeer: ofPeers.of,
    byPeer(peer, path, why) {
      const before = byPeers.of(peer);
      byPeers.set(peer, path, why);
      const after = byPeers.of(peer);
      if ((before === undefined) !== (after === undefined)) onChange({peer, why: after});
    },
    peersThatRefuse: byPeers.peers,
  };
};

const createReasons = () => {
  const reasons = new Map<number, Map<Path, string>>();
  return {
    set(peer: number, path: Path, why: string | undefined): void {
      const known = reasons.get(peer) ?? new Map<Path, string>();
      if (why === undefined) known.delete(path);
      else known.set(path, why.slice(0, 500));
      if (known.size === 0) reasons.delete(peer);
      else reasons.set(peer, known);
    },
    of: (peer: number): string | undefined => {
      const known = reasons.get(peer);
      return known && [...known.values()].join('; ');
    },
    peers: (): number[] => [...reasons.keys()],
  };
};
