// The node that is asked in place of the first one of the context.
import type {Move} from '../../client/addresses.ts';

export interface Route {
  /** `mx2:8443 in place of mx1:8443`; undefined while the first one is asked. */
  detour(): string | undefined;
  /** Called after each change. */
  subscribe(listener: () => void): void;
  move(move: Move): void;
}

export const createRoute = ({host: first}: URL): Route => {
  let detour: string | undefined;
  let tell = (): void => undefined;
  return {
    detour: () => detour,
    subscribe: listener => {
      tell = listener;
    },
    move: ({to}) => {
      detour = to === first ? undefined : `${to} in place of ${first}`;
      tell();
    },
  };
};
