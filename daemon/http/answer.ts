// The one place that writes envelopes: from a service's answer, or from its fault.
import {randomBytes} from 'node:crypto';
import type {Middleware} from 'koa';
import type {Logger} from 'pino';
import {failure, type SuccessMessage, success} from '../../shared/envelope.ts';
import {Fault} from '../../shared/fault.ts';
import type {Ctx, RequestState} from './api/state.ts';

export const reply = (ctx: Pick<Ctx, 'status' | 'body'>, data: unknown, message: SuccessMessage = 'OK'): void => {
  ctx.status = message === 'Created' ? 201 : 200;
  ctx.body = success(data, message);
};

/** The nodes whose part is missing from an answer, or who have yet to hear of what was done. */
export const nameUnreachable = (ctx: Pick<Ctx, 'set'>, nodeIds: readonly string[]): void => {
  if (nodeIds.length > 0) ctx.set('X-Unreachable-Nodes', nodeIds.join(', '));
};

export const newRequestId = (): string => randomBytes(10).toString('hex');

/** Gives every request an id, every answer the safe headers, and every error its envelope. */
export const answerErrors =
  <S extends Pick<RequestState, 'requestId'>>(log: Logger): Middleware<S> =>
  async (ctx, next) => {
    ctx.state.requestId = newRequestId();
    ctx.set({'X-Request-Id': ctx.state.requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff'});
    try {
      await next();
    } catch (error) {
      const fault = faultFrom(error);
      if (fault.code === 'internal') log.error({request_id: ctx.state.requestId, err: error}, 'request failed');
      ctx.set(headersOf(fault));
      ctx.status = fault.status;
      ctx.body = failure(fault, ctx.state.requestId);
    }
  };

const faultFrom = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  // Koa and its router report a path that cannot be decoded this way.
  if (error instanceof Error && 'status' in error && error.status === 400)
    return new Fault('invalid_parameter', 'the path is not valid percent-encoded UTF-8', {cause: error});
  return new Fault('internal', 'the node failed to answer; quote the request id to its operator', {cause: error});
};

const headersOf = ({code, details}: Fault): Record<string, string> => ({
  ...(code.startsWith('key_') && {'WWW-Authenticate': `ApiKey realm="mfd", header="X-API-Key", error="${code}"`}),
  ...(details.allow && {Allow: details.allow.join(', ')}),
  ...(details.retryAfterSeconds !== undefined && {'Retry-After': String(details.retryAfterSeconds)}),
});
