// What a node stores of those that join, of the names in certificates, and of what it heard last from its peers.
export interface StoredJoinToken {
  /** Names the token; the client certificate in it says the same. */
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
