// Who stands behind a request that another node passes on. What that node says is believed only as far as this node knows no better.

import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../../shared/fault.ts';
import {plainAddress} from '../../../shared/host-port.ts';
import {narrower, type Permission, permissionsOf, scopesWith} from '../../../shared/scopes.ts';
import type {Store} from '../../services/ports.ts';
import {type Admission, createAdmission} from '../access/admission.ts';
import type {KeyDirectory} from '../access/key-directory.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {Actor} from '../ports.ts';
import type {RelayedActor} from '../quarantine/peer-hold-protocol.ts';
import type {StoredApiKey} from '../records.ts';

export interface PeerActors {
  /**
   * The actor that the node `relay` asks for, with the narrower of the reach that it says and the one that this node knows of. A
   * Fault `key_revoked`, `key_expired` or `key_invalid` when the key is no good, `insufficient_scope` when it has another scope than
   * `relay` says, and `unavailable` when it is not known here and does not arrive within a second or so.
   */
  admit(relayed: RelayedActor, permission: Permission, relay: {nodeId: string}): Promise<Actor>;
}

interface Needs {
  store: Store;
  keys: KeyDirectory;
  domains: DomainDirectory;
  now: () => number;
  /** How long a key that is not known here may take to arrive: it may have been made a moment ago. */
  patienceMs?: number;
}

const pollMs = 50;

export const createPeerActors = ({store, keys, domains, now, patienceMs = 1500}: Needs): PeerActors => {
  const {requireActive, accessOf}: Admission = createAdmission({domains, now});

  /** `mfd bootstrap-key` writes to the database of a running node. */
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
      // A reach of nothing sees nothing and finds nothing; what the scope forbids should have been refused where it was asked.
      if (known.scope !== scope || !permissionsOf(known.scope, {kind: 'all'}).includes(permission))
        throw new Fault('insufficient_scope', 'the scope of the key does not permit this', {
          requiredScopes: scopesWith(permission),
        });
      return {
        keyId: key_id,
        scope: known.scope,
        reach: narrower(reach, accessOf(known)),
        // A node of 0.4 says what its dual-stack socket says.
        remoteAddress: remote_address === null ? null : plainAddress(remote_address),
        relayedBy: nodeId,
      };
    },
  };
};
