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

/** Which records a key may reach: all of them, one domain's, or (its domain being gone) none. */
export type AccessScope = {kind: 'all'} | {kind: 'domain'; domainId: number} | {kind: 'none'};

export const permissionsOf = (scope: Scope, reach: AccessScope): readonly Permission[] =>
  reach.kind === 'none' ? ['me:read'] : granted[scope];

export const scopesWith = (permission: Permission): Scope[] => scopes.filter(scope => granted[scope].includes(permission));

export const isWithinAccess = (reach: AccessScope, domainId: number): boolean =>
  reach.kind === 'all' || (reach.kind === 'domain' && reach.domainId === domainId);

/** What both reach. */
export const narrower = (a: AccessScope, b: AccessScope): AccessScope => {
  if (a.kind === 'all') return b;
  if (b.kind === 'all') return a;
  return a.kind === 'domain' && b.kind === 'domain' && a.domainId === b.domainId ? a : {kind: 'none'};
};
