import {type Permission, scopesWith} from '../../../shared/scopes.ts';
import type {AppContext} from './app-context.ts';

/** Why the permission is missing here, or undefined when it is not. */
export const whyNot = (
  {may, me, isReadOnly}: Pick<AppContext, 'may' | 'me' | 'isReadOnly'>,
  permission: Permission,
): string | undefined => {
  if (may(permission)) return undefined;
  if (me.permissions.includes(permission) && isReadOnly) return 'the dashboard was opened with --read-only: it changes nothing';
  return `this ${me.scope} key may not do that; it takes a ${scopesWith(permission).join(' or ')} key (c chooses another context)`;
};
