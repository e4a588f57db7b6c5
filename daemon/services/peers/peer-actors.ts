// Actors of requests that another node relays. This node checks the statements of the relay against its own records.

import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../../shared/fault.ts';
import {plainAddress} from '../../../shared/host-port.ts';
import {narrower, permissionsOf, scopesWith} from '../../../shared/scopes.ts';
import type {KeyDirectory} from '../access/key-directory.ts';
import {type Admission, createAdmission, type RequireFresh} from '../access/keys.ts';
import type {PeerActors} from '../actor.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {Store} from '../ports.ts';
import type {StoredApiKey} from '../records.ts';

interface Needs {
  store: Store;
  keys: KeyDirectory;
  domains: DomainDirectory;
  requireFresh?: RequireFresh;
  now: () => number;
  /** How long to wait for an unknown key, which may have been created a moment ago. */
  patienceMs?: number;
}

const pollMs = 50;

export const createPeerActors = (needs: Needs): PeerActors => {
  const {store, keys, patienceMs = 1500} = needs;
  const {requireActive, accessOf}: Admission = createAdmission(needs);

  /** Falls back to the store, because `mfd bootstrap-key` writes to the database of a running node. */
  const find = async (id: number) => keys.findById(id) ?? store.config.findApiKey({id});

  const byId = async (id: number): Promise<StoredApiKey> => {
    const endsAt = performance.now() + patienceMs;
    for (;;) {
      const known = await find(id);
      if (known) return known;
      if (await store.config.isDeleted({kind: 'api_key', id}))
        throw new Fault('key_invalid', 'the API key has been deleted; ask for a new one');
      if (performance.now() >= endsAt)
        throw new Fault('unavailable', 'the node that this takes has not heard of the API key yet; try again in a few seconds', {
          retryAfterSeconds: 5,
        });
      await delay(pollMs);
    }
  };

  return {
    async admit({key_id, scope, reach, remote_address}, permission, {nodeId}) {
      const known = await byId(key_id);
      requireActive(known);
      // An empty access scope is not an error; it finds nothing. A missing permission is: the relay should have refused the request.
      if (known.scope !== scope || !permissionsOf(known.scope, {kind: 'all'}).includes(permission))
        throw new Fault('insufficient_scope', 'the scope of the key does not permit this', {
          requiredScopes: scopesWith(permission),
        });
      return {
        keyId: key_id,
        scope: known.scope,
        reach: narrower(reach, accessOf(known)),
        // A node of 0.4 sends addresses as its dual-stack socket shows them, such as ::ffff:192.0.2.1.
        remoteAddress: remote_address === null ? null : plainAddress(remote_address),
        relayedBy: nodeId,
      };
    },
  };
};
