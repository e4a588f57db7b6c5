import type {Spool} from '../../daemon/hold/spool/spool.ts';

/** Queue ids of all files, ascending. */
export const spoolNames = async (spool: Spool): Promise<string[]> => {
  const names: string[] = [];
  for await (const batch of spool.batches(100)) names.push(...batch);
  return names.sort();
};
