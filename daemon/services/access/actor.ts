// Identities of those who act: a caller of the API, and a node.
import type {AccessScope, Scope} from '../../../shared/scopes.ts';

/** The caller. The node itself and its operator act with `keyId` null and have access to everything. */
export interface Actor {
  keyId: number | null;
  scope: Scope;
  reach: AccessScope;
  remoteAddress: string | null;
  /** The node that relayed the request and named the caller; undefined if the caller sent the request to this node. */
  relayedBy?: string;
}

/** A node: its name, and its number, which is never reused and is the first part of every id created there. */
export interface NodeIdentity {
  nodeId: string;
  nodeNo: number;
}
