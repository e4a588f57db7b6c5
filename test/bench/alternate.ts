// Two or more things measured in turn, so that what the machine does meanwhile meets all of them.

/** Milliseconds. */
export const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

export interface Rounds {
  rounds: number;
  /** Before anything counts. */
  warmUps?: number;
}

/** What each of `works` gave in each round. */
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
