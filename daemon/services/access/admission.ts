// Whether a key is good at this moment, and for what: asked when a request comes in, where another node carries it out, and
// again and again of an answer that never ends.

import {Fault} from '../../../shared/fault.ts';
import type {AccessScope} from '../../../shared/scopes.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {StoredApiKey} from '../records.ts';

export interface Admission {
  /** A Fault `key_revoked` or `key_expired` when the key is no good any more. */
  requireActive(key: StoredApiKey): void;
  accessOf(key: StoredApiKey): AccessScope;
}

export const createAdmission = ({domains, now}: {domains: DomainDirectory; now: () => number}): Admission => ({
  requireActive({revoked_at, expires_at}) {
    if (revoked_at !== null) throw new Fault('key_revoked', 'the API key has been revoked; ask for a new one');
    if (expires_at !== null && Date.parse(expires_at) <= now())
      throw new Fault('key_expired', `the API key expired at ${expires_at}; ask for a new one`);
  },

  accessOf({scope, domain_id}) {
    if (scope !== 'domain-admin') return {kind: 'all'};
    return domain_id !== null && domains.findById(domain_id) ? {kind: 'domain', domainId: domain_id} : {kind: 'none'};
  },
});
