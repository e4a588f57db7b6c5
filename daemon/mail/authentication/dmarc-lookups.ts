// DNS lookups for DMARC.

import type {Lookup} from '../lookup.ts';
import type {DmarcLookups} from './dmarc.ts';

export const dmarcLookups = (lookup: Lookup): DmarcLookups => ({
  async texts(name) {
    const records = (await lookup(name, 'TXT').catch(noneIfMissing)) as string[][];
    return records.map(parts => parts.join(''));
  },
  async exists(domain) {
    for (const type of ['A', 'AAAA', 'MX'] as const)
      if ((await lookup(domain, type).catch(noneIfMissing)).length > 0) return true;
    return false;
  },
});

/** For a lookup: no records where there are none. */
export const noneIfMissing = (error: unknown): [] => {
  const {code} = error as NodeJS.ErrnoException;
  if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
  throw error;
};
