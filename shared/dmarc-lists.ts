// How far the lists of DMARC counts reach, and the name of what is summed up. Separate from the schemas, which mfctl does not load.

export const maxSources = 1000;
/** How far the list of reports reaches. */
export const maxReports = 10_000;

/** In place of an address: sources that are not stored one by one, as there were too many on one day. No mail comes from it. */
export const otherSources = '::';

/** For people. */
export const sourceText = (address: string): string => (address === otherSources ? 'all others' : address);
