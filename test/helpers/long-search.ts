import {usualSearchLimit} from '../../daemon/services/search-limits.ts';

/** For stores of tests that are not about this limit: beside hundreds of others a search of a few rows may take seconds. */
export const longSearch = {...usualSearchLimit, withinMs: 60_000};
