import type {RouterContext} from '@koa/router';
import type {Actor} from '../../services/access/actor.ts';

/** State of a request. */
export interface RequestState {
  requestId: string;
  /** The caller; set by `authenticate`, which runs before every route except the interface descriptions. */
  actor: Actor & {keyId: number};
  /** The key was refused, like others of the same minute and address: the log has one line with their number for all of them. */
  isCounted?: boolean;
  /** The parsed JSON of a route that takes a body. */
  body: unknown;
}

export type Ctx = RouterContext<RequestState>;
