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
] as const;
export type Permission = (typeof permissions)[number];

const granted: Record<Scope, readonly Permission[]> = {
  'read-only': ['me:read', 'keys:read', 'domains:read', 'quarantine:read', 'cluster:read', 'audit:read'],
  'quarantine-only': ['me:read', 'quarantine:read', 'quarantine:act'],
  'domain-admin': ['me:read', 'domains:read', 'domains:write', 'quarantine:read', 'quarantine:act'],
  'full-admin': permissions,
};

/** The records that a key may access: all of them, those of one domain, or none after its domain was deleted. */
export type AccessScope = {kind: 'all'} | {kind: 'domain'; domainId: number} | {kind: 'none'};

export const permissionsOf = (scope: Scope, access: AccessScope): readonly Permission[] =>
  access.kind === 'none' ? ['me:read'] : granted[scope];

/** The scopes that grant `permission`, or at least one of several. */
export const scopesWith = (permission: Permission | readonly Permission[]): Scope[] =>
  scopes.filter(scope => [permission].flat().some(each => granted[scope].includes(each)));

export const isWithinAccess = (access: AccessScope, domainId: number): boolean =>
  access.kind === 'all' || (access.kind === 'domain' && access.domainId === domainId);

/** The records that both may access. */
export const narrower = (a: AccessScope, b: AccessScope): AccessScope => {
  if (a.kind === 'all') return b;
  if (b.kind === 'all') return a;
  return a.kind === 'domain' && b.kind === 'domain' && a.domainId === b.domainId ? a : {kind: 'none'};
};
