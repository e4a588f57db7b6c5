// How much of a page each node is likely to have. Of a page's entries, each node has some: to ask every one of them for as many as the
// page has makes all but a few of them work, and send, for nothing.

export interface PageShares {
  /** How many entries to ask a part for at first, where `count` are looked for in `parts` parts. */
  guess(nodeId: string, count: number, parts: number): number;
  /** How much of a page a part had, 0 to 1. */
  train(nodeId: string, share: number): void;
}

export const createPageShares = (): PageShares => {
  const shares = new Map<string, number>();
  return {
    guess(nodeId, count, parts) {
      const share = shares.get(nodeId) ?? 1 / parts;
      // Were each entry on any node by chance, one page in a thousand would need more than that.
      const deviation = Math.sqrt(count * share * (1 - share));
      return Math.min(count, Math.ceil(count * share + 3 * deviation) + 2);
    },
    train(nodeId, share) {
      shares.set(nodeId, ((shares.get(nodeId) ?? share) + share) / 2);
    },
  };
};
