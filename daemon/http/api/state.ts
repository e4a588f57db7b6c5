import type {RouterContext} from '@koa/router';
import type {Actor} from '../../services/ports.ts';

/** What a request carries on its way in. */
export interface RequestState {
  requestId: string;
  /** Who asks; set by `authenticate`, which every route but the interface description is behind. */
  actor: Actor & {keyId: number};
  /** It was refused for its key like others of the same minute and address: the log has their number instead of a line for each. */
  isCounted?: boolean;
  /** The parsed JSON of a route that takes a body. */
  body: unknown;
}

export type Ctx = RouterContext<RequestState>;
