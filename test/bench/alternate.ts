// Measurements that alternate between two or more works, so that other activity of the machine affects all of them.

/** Resolves with milliseconds. */
export const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

export interface Rounds {
  rounds: number;
  /** Rounds before the measurement begins. */
  warmUps?: number;
}

/** The result of each of `works` in each round. */
export const alternate = async <Name extends string>(
  works: Record<Name, () => Promise<number>>,
  {rounds, warmUps = 1}: Rounds,
): Promise<Record<Name, number[]>> => {
  const names = Object.keys(works) as Name[];
  const values = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = -warmUps; round < rounds; round += 1)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const value = await works[name]();
      if (round >= 0) values[name].push(value);
    }
  return values;
};
