import type {Middleware} from 'koa';
import type {Logger} from 'pino';
import type {RequestState} from './api/state.ts';
import {matchedRoute} from './matched-route.ts';
import type {Metrics} from './metrics.ts';
import {remoteAddressOf} from './remote-address.ts';

/** One log line (except with `isCounted`) and one measurement per answer. Without the query string, which may contain personal data. */
export const observe =
  (metrics: Metrics, log: Logger): Middleware<RequestState> =>
  async (ctx, next) => {
    const startedAt = performance.now();
    ctx.res.once('close', () => {
      const seconds = (performance.now() - startedAt) / 1000;
      // An event stream stays open for hours, which is not the time of the answer.
      if (ctx.type !== 'text/event-stream')
        metrics.httpRequest({
          method: knownMethods.includes(ctx.method) ? ctx.method : 'other',
          route: matchedRoute(ctx) ?? 'unmatched',
          status: ctx.status,
          seconds,
        });
      const {requestId, actor, isCounted} = ctx.state as Partial<RequestState>;
      if (isCounted) return;
      log.info(
        {
          request_id: requestId,
          method: ctx.method,
          path: ctx.path,
          status: ctx.status,
          ms: Math.round(seconds * 1e5) / 100,
          key_id: actor?.keyId ?? null,
          remote_address: remoteAddressOf(ctx.req),
        },
        'request',
      );
    });
    await next();
  };

const knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];
