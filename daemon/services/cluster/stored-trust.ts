// Join tokens, issued names and peer reports, as a node stores them.
export interface StoredJoinToken {
  /** Identifies the token. The client certificate in the token contains the same id. */
  id: string;
  created_at: string;
  expires_at: string;
  used_at: string | null;
}

export interface IssuedName {
  node_no: number;
  /** Canonical, see `canonicalHost`. */
  host: string;
}

export interface PeerReport {
  node_no: number;
  last_seen: string;
  report: unknown;
}
