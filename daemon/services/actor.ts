// Identities of those who act: a caller of the API, and a node.

import {z} from 'zod';
import {maxDomains} from '../../shared/api-key.ts';
import {id} from '../../shared/fields.ts';
import {type AccessScope, type Permission, type Scope, scopes} from '../../shared/scopes.ts';

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

/** The actor on whose behalf another node asks. Strict: ignoring a part of it would show the caller too much. */
export const relayedActorSchema = z.strictObject({
  key_id: id,
  scope: z.enum(scopes),
  reach: z
    .discriminatedUnion('kind', [
      z.strictObject({kind: z.literal('all')}),
      z.strictObject({kind: z.literal('domain'), domain_id: id}),
      // Nodes of 0.8 refuse this, so they are named as nodes that did not answer.
      z.strictObject({kind: z.literal('domains'), domain_ids: z.array(id).min(1).max(maxDomains)}),
      z.strictObject({kind: z.literal('none')}),
    ])
    .transform((reach): AccessScope => {
      if (reach.kind === 'domain') return {kind: 'domain', domainId: reach.domain_id};
      return reach.kind === 'domains' ? {kind: 'domains', domainIds: reach.domain_ids} : reach;
    }),
  remote_address: z.string().max(100).nullable(),
});
export type RelayedActor = z.output<typeof relayedActorSchema>;

export const actorToRelay = ({keyId, scope, reach, remoteAddress}: Actor): z.input<typeof relayedActorSchema> => {
  if (keyId === null) throw new Error('a node asks others for its callers only, and they have keys');
  return {key_id: keyId, scope, reach: relayedReach(reach), remote_address: remoteAddress};
};

const relayedReach = (reach: AccessScope): z.input<typeof relayedActorSchema>['reach'] => {
  if (reach.kind === 'domain') return {kind: 'domain', domain_id: reach.domainId};
  return reach.kind === 'domains' ? {kind: 'domains', domain_ids: [...reach.domainIds]} : reach;
};

export interface PeerActors {
  /**
   * The actor on whose behalf the node `relay` asks, with the narrower of two access scopes: the one that `relay` states and the one
   * that this node knows. Throws a Fault `key_revoked`, `key_expired` or `key_invalid` for a key that is not active,
   * `insufficient_scope` if the key has another scope than stated or lacks the permission, and `unavailable` if the key is unknown here
   * and does not arrive in time.
   */
  admit(relayed: RelayedActor, permission: Permission, relay: {nodeId: string}): Promise<Actor>;
}
