export const scopes = ['read-only', 'quarantine-only', 'domain-admin', 'full-admin'] as const;
export type Scope = (typeof scopes)[number];

export const permissions = [
  'me:read',
  'keys:read',
  'keys:write',
  'domains:read',
  'domains:create',
  'domains:write',
  'quarantine:read',
  'quarantine:act',
  'cluster:read',
  'cluster:write',
  'audit:read',
  'trace:read',
] as const;
export type Permission = (typeof permissions)[number];

const granted: Record<Scope, readonly Permission[]> = {
  'read-only': ['me:read', 'keys:read', 'domains:read', 'quarantine:read', 'cluster:read', 'audit:read', 'trace:read'],
  'quarantine-only': ['me:read', 'quarantine:read', 'quarantine:act'],
  'domain-admin': ['me:read', 'domains:read', 'domains:write', 'quarantine:read', 'quarantine:act', 'trace:read'],
  'full-admin': permissions,
};

/**
 * The records that a key may access: all of them, those of its domains that are left, or none after all of them were deleted. A key for
 * one domain has a kind of its own, as nodes of 0.8 know no other.
 */
export type AccessScope =
  | {kind: 'all'}
  | {kind: 'domain'; domainId: number}
  | {kind: 'domains'; domainIds: readonly number[]}
  | {kind: 'none'};

/** Undefined for access to all domains. */
export const domainIdsIn = (access: AccessScope): readonly number[] | undefined => {
  switch (access.kind) {
    case 'all':
      return undefined;
    case 'domain':
      return [access.domainId];
    case 'domains':
      return access.domainIds;
    case 'none':
      return [];
    default:
      return access satisfies never;
  }
};

interface BoundKey {
  domain?: string | null | undefined;
  domains?: readonly string[] | null | undefined;
}

/** The names of the domains of a key, or of one that is wanted. Nodes of 0.8 know keys for one domain only, and show no `domains`. */
export const domainNamesOf = ({domain, domains}: BoundKey): readonly string[] =>
  domains ?? (domain === null || domain === undefined ? [] : [domain]);

export const permissionsOf = (scope: Scope, access: AccessScope): readonly Permission[] =>
  access.kind === 'none' ? ['me:read'] : granted[scope];

/** The scopes that grant `permission`, or at least one of several. */
export const scopesWith = (permission: Permission | readonly Permission[]): Scope[] =>
  scopes.filter(scope => [permission].flat().some(each => granted[scope].includes(each)));

export const isWithinAccess = (access: AccessScope, domainId: number): boolean => domainIdsIn(access)?.includes(domainId) ?? true;

/** The records that both may access. */
export const narrower = (a: AccessScope, b: AccessScope): AccessScope => {
  if (a.kind === 'all') return b;
  if (b.kind === 'all') return a;
  if (a.kind === 'domain') return isWithinAccess(b, a.domainId) ? a : {kind: 'none'};
  const domainIds = (domainIdsIn(a) ?? []).filter(id => isWithinAccess(b, id));
  return domainIds.length === 0 ? {kind: 'none'} : {kind: 'domains', domainIds};
};
