// Observation of requests: their metrics, their log lines, and the state that they carry.
import type {IncomingMessage} from 'node:http';
import type {RouterContext} from '@koa/router';
import type {Middleware} from 'koa';
import type {Logger} from 'pino';
import {plainAddress} from '../../shared/host-port.ts';
import type {Actor} from '../services/actor.ts';
import {unfailing} from '../services/unfailing.ts';
import {matchedRoute} from './matched-route.ts';
import type {Metrics} from './metrics.ts';

/** One log line (except with `isCounted`) and one measurement per answer. Without the query string, which may contain personal data. */
export const observe =
  (metrics: Metrics, log: Logger): Middleware<RequestState> =>
  async (ctx, next) => {
    const startedAt = performance.now();
    const record = () => {
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
      // Of what went well there may be thousands in a second. The id of a failure is in the answer, so that its line can be found.
      log[ctx.status < 400 ? 'debug' : 'info'](
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
    };
    // An error of an event listener would end the process.
    ctx.res.once('close', unfailing(record));
    await next();
  };

const knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];

/** The client address of a request; null once the connection is closed. Headers are ignored: a proxy in front is the client. */
export const remoteAddressOf = ({socket: {remoteAddress}}: Pick<IncomingMessage, 'socket'>): string | null =>
  remoteAddress === undefined ? null : plainAddress(remoteAddress);

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
