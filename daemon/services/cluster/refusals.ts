// Refusals: changes that one node does not take from another. The outbox of a refused node would grow in silence, and a revocation in
// it would not arrive, so both ends report it for as long as it lasts.

/** Refused as events, or found left out when records were fetched. */
type Path = 'events' | 'records';

export interface Refusals {
  /** This node cannot take what `peer` has changed, for the reason `why`; undefined once it can. */
  ofPeer(peer: number, path: Path, why: string | undefined): void;
  /** Why this node does not take what `peer` has changed; undefined while it does. */
  whyOfPeer(peer: number): string | undefined;
  /** `peer` says by its answer to events, or in its heartbeat, that it cannot take what this node has changed. */
  byPeer(peer: number, path: Path, why: string | undefined): void;
  /** The peers that refuse what this node has changed. */
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
