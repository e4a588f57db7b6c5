// The difference of two large sets of names, in memory that does not grow with them.

export interface Difference {
  /** Once for each set that has the name. */
  toggle(name: string): void;
  /** Whether the sets are the same. That they are not goes unnoticed once in 2³² times. */
  isNone(): boolean;
  /** False for most names that both sets have. Of a name that only one has it is false as rarely. */
  mayHave(name: string): boolean;
}

const buckets = 2 ** 16;

/** The exclusive or of the hashes of all names in a bucket is zero when each name came twice. */
export const createDifference = (): Difference => {
  const sums = new Uint32Array(buckets);
  const bucketOf = (name: string) => hashOf(name, 0x9e_37_79_b1) >>> 16;
  return {
    toggle(name) {
      const bucket = bucketOf(name);
      sums[bucket] = (sums[bucket] ?? 0) ^ hashOf(name, 0x85_eb_ca_77);
    },
    isNone: () => sums.every(sum => sum === 0),
    mayHave: name => sums[bucketOf(name)] !== 0,
  };
};

/** The names are our own; a multiplication for each character mixes them well enough. */
const hashOf = (name: string, factor: number): number => {
  let hash = 0;
  for (let at = 0; at < name.length; at += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(at), factor);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
};
