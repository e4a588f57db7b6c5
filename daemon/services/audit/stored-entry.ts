// Entries of the audit log in the form in which a node stores its own.
export interface NewAuditEntry {
  at: string;
  key_id: number | null;
  action: string;
  target: string;
  remote_address: string | null;
  /** `ok` or an error code. */
  result: string;
  detail: string;
}

export type StoredAuditEntry = NewAuditEntry & {seq: number; hash: string; key_name: string | null};
