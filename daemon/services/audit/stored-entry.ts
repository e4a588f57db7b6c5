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

export type StoredAuditEntry = NewAuditEntry & {seq: number; hash: string; key_name: string | null};
