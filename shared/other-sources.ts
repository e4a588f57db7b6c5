// Name of the sources of mail that are summed up. Separate from the schemas, which mfctl does not load.

/** In place of an address: sources that are not stored one by one, as there were too many on one day. No mail comes from it. */
export const otherSources = '::';

/** For people. */
export const sourceText = (address: string): string => (address === otherSources ? 'all others' : address);
