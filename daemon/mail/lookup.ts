export const recordTypes = ['A', 'AAAA', 'MX', 'PTR', 'TXT'] as const;
export type RecordType = (typeof recordTypes)[number];

/**
 * Asks DNS. Resolves with records in the shapes of `node:dns`. Rejects with `code` ENOTFOUND or ENODATA when there are none, and with
 * ETIMEOUT when nothing is known about them, whatever the reason.
 */
export type Lookup = (name: string, type: RecordType) => Promise<unknown[]>;
