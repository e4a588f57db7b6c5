// Who stands behind a request that another node passes on. What is told is believed only as far as this node knows no better.
import {Fault} from '../../shared/fault.ts';
import {narrower, type Permission, permissionsOf, scopesWith} from '../../shared/scopes.ts';
import {findApiKey} from '../store/api-key.ts';
import {findRecord} from '../store/config-record.ts';
import type {Database} from '../store/database.ts';
import {type Admission, createAdmission} from './admission.ts';
import type {DomainDirectory} from './domain-directory.ts';
import type {KeyDirectory} from './key-directory.ts';
import type {ToldActor} from './peer-hold-protocol.ts';
import type {Actor} from './ports.ts';

export interface PeerActors {
  /**
   * The actor with the narrower of the reach it is told to have and the one this node knows of; a Fault `key_revoked`,
   * `key_expired` or `key_invalid` when the key is known to be no good. A key that is not here yet is taken as told.
   */
  admit(told: ToldActor, permission: Permission): Promise<Actor>;
  /** The same for what must not be had by naming a key that nobody has: `unavailable` for one that is not here yet. */
  admitKnown(told: ToldActor, permission: Permission): Promise<Actor>;
}

interface Needs {
  database: Database;
  keys: KeyDirectory;
  domains: DomainDirectory;
  now: () => number;
}

export const createPeerActors = ({database, keys, domains, now}: Needs): PeerActors => {
  const {requireActive, reachOf}: Admission = createAdmission({domains, now});

  /** `mfd bootstrap-key` writes to the database of a running node. */
  const find = async (id: number) => keys.findById(id) ?? findApiKey(database.read, {id});

  return {
    async admit({key_id, scope, reach, remote_address}, permission) {
      const known = await find(key_id);
      if (known) requireActive(known);
      else if ((await findRecord(database.read, {kind: 'api_key', id: key_id}))?.deleted)
        throw new Fault('key_invalid', 'the API key has been deleted; ask for a new one');

      // A reach of nothing sees nothing and finds nothing; what the scope forbids should have been refused where it was asked.
      if (!permissionsOf(known?.scope ?? scope, {kind: 'all'}).includes(permission))
        throw new Fault('insufficient_scope', 'the scope of the key does not permit this', {
          requiredScopes: scopesWith(permission),
        });
      return {
        keyId: key_id,
        scope: known?.scope ?? scope,
        reach: known ? narrower(reach, reachOf(known)) : reach,
        remoteAddress: remote_address,
      };
    },

    async admitKnown(told, permission) {
      const actor = await this.admit(told, permission);
      if (!(await find(told.key_id)))
        throw new Fault('unavailable', 'the node that this takes has not heard of the API key yet; try again in a few seconds', {
          retryAfterSeconds: 5,
        });
      return actor;
    },
  };
};
