// Admission of API keys: whether a key is active, and what it may access. Checked for each request, again on the node that carries
// the request out, and repeatedly while an event stream is open.

import {Fault} from '../../../shared/fault.ts';
import type {AccessScope} from '../../../shared/scopes.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {StoredApiKey} from '../records.ts';

export interface Admission {
  /** Throws a Fault `key_revoked` or `key_expired` for a key that is no longer active. */
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
