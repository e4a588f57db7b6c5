// Entries of the audit log, as a node stores its own.
export interface NewAuditEntry {
  at: string;
  key_id: number | null;
  action: string;
  target: string;
  remote_address: string | null;
  /** `ok` or the code of a Fault. */
  result: string;
  detail: string;
}

/** An entry about something that the node itself did or found, without a request. */
export const nodeEntry = (
  entry: Pick<NewAuditEntry, 'at' | 'action' | 'target' | 'detail'> & Partial<NewAuditEntry>,
): NewAuditEntry => ({key_id: null, remote_address: null, result: 'ok', ...entry});

/** `node_id` only in a store that all nodes share. */
export type StoredAuditEntry = NewAuditEntry & {seq: number; hash: string; key_name: string | null; node_id?: string};
