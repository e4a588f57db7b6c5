import {type Permission, scopesWith} from '../../shared/scopes.ts';
import type {Desk} from './desk.ts';
import type {Frame} from './frame.ts';

/** Why that cannot be done here; undefined when it can. */
export const whyNot = ({me, may}: Pick<Desk, 'me' | 'may'>, permission: Permission): string | undefined => {
  if (may(permission)) return undefined;
  if (me.permissions.includes(permission)) return 'the dashboard was opened with --read-only: nothing can be changed in it';
  const scopes = scopesWith(permission);
  return `the key ${me.name} is ${me.scope} and may not do this; ${scopes.length > 0 ? `${scopes.join(' and ')} keys may` : 'no key may'}`;
};

/** Does it, or says why it cannot be done. */
export const ifMay = ({desk, say}: Pick<Frame, 'desk' | 'say'>, permission: Permission, act: () => void): void => {
  const reason = whyNot(desk, permission);
  if (reason === undefined) act();
  else say(reason, 'warn');
};
