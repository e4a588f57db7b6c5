import type {IncomingMessage} from 'node:http';
import type {RouterMiddleware} from '@koa/router';
import {Fault} from '../../shared/fault.ts';
import type {RequestState} from './state.ts';

const maxBytes = 64 * 1024;
const maxDepth = 32;
const mediaTypes = ['application/json', 'application/merge-patch+json'];

/** Reads and parses the JSON body into `ctx.state.body`. */
export const jsonBody: RouterMiddleware<RequestState> = async (ctx, next) => {
  requireMediaType(ctx.get('Content-Type'));
  ctx.state.body = parse(await read(ctx.req));
  await next();
};

/** For requests that need no body: what is sent all the same is read, so that nothing asked for is silently ignored. */
export const optionalJsonBody: RouterMiddleware<RequestState> = async (ctx, next) => {
  const hasBody = ctx.get('Transfer-Encoding') !== '' || Number(ctx.get('Content-Length') || 0) > 0;
  if (hasBody) requireMediaType(ctx.get('Content-Type'));
  ctx.state.body = hasBody ? parse(await read(ctx.req)) : {};
  await next();
};

const requireMediaType = (contentType: string): void => {
  const [type = '', ...parameters] = contentType.split(';').map(part => part.trim().toLowerCase());
  if (!mediaTypes.includes(type)) throw new Fault('unsupported_media_type', `send the body as ${mediaTypes.join(' or ')}`);
  const charset = parameters
    .find(parameter => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  if (charset !== undefined && charset !== 'utf-8') throw new Fault('unsupported_media_type', 'send the body in UTF-8');
};

/** What is over the limit is not kept; the HTTP server drains it after the answer. */
const read = async (request: IncomingMessage): Promise<Buffer> => {
  const tooLarge = () => new Fault('payload_too_large', `a body may be at most ${maxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const stop = (error?: Error) => {
      request.off('data', onData).off('end', onEnd).off('aborted', onAborted).off('error', reject);
      if (error) reject(error);
      else resolve(Buffer.concat(chunks));
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) stop(tooLarge());
      else chunks.push(chunk);
    };
    const onEnd = () => stop();
    const onAborted = () => stop(new Fault('malformed_json', 'the body ended early'));
    request.on('data', onData).on('end', onEnd).on('aborted', onAborted).on('error', reject);
  });
};

const parse = (bytes: Buffer): unknown => {
  if (bytes.length === 0) throw new Fault('malformed_json', 'the body is empty; send a JSON object');
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(bytes));
  } catch (error) {
    throw new Fault('malformed_json', 'the body is not JSON in UTF-8', {cause: error});
  }
  if (isDeeper(value, maxDepth)) throw new Fault('malformed_json', `the body is nested more than ${maxDepth} levels deep`);
  return value;
};

const isDeeper = (value: unknown, depth: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some(member => isDeeper(member, depth - 1));
};
