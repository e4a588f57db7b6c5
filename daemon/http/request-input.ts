// Input of a request: path and query parameters, and the body.

import type {IncomingMessage} from 'node:http';
import type {RouterMiddleware} from '@koa/router';
import type {z} from 'zod';
import {Fault} from '../../shared/fault.ts';
import {nodeIdPattern, queueIdPattern} from '../../shared/fields.ts';
import type {MailReference} from '../../shared/held-mail.ts';
import {validateParameters} from '../services/validate.ts';
import type {RequestBody} from './api/endpoint.ts';
import {jsonFault} from './json-fault.ts';
import type {Ctx} from './observe.ts';
import type {PeerState} from './peer/peer-app.ts';

/** Parses the query string by `schema`. Throws a Fault that names a repeated, unknown or invalid parameter. */
export const queryOf = <S extends z.ZodType>(ctx: Ctx, schema: S): z.output<S> => {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(ctx.querystring)) {
    if (parameters.has(name)) throw wrong(name, 'is given twice');
    parameters.set(name, value);
  }
  return validateParameters(schema, Object.fromEntries(parameters));
};

/** Parses an id in the path, such as `{id}`: an integer from 1 to 2^53 - 1. */
export const idOf = (ctx: Ctx, name = 'id'): number => {
  const text = ctx.params[name] ?? '';
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw wrong(name, 'must be a whole number, such as 1000000001');
  return id;
};

/** `{node_id}` of the path. */
export const nodeIdOf = (ctx: Ctx): string => {
  const {node_id = ''} = ctx.params;
  if (!nodeIdPattern.test(node_id)) throw wrong('node_id', 'must be 1 to 63 letters, digits, dots, underscores or hyphens');
  return node_id;
};

/** `{node_id}/{queue_id}` of the path. */
export const mailOf = (ctx: Ctx): MailReference => {
  const node_id = nodeIdOf(ctx);
  const {queue_id = ''} = ctx.params;
  if (!queueIdPattern.test(queue_id)) throw wrong('queue_id', 'must be 6 to 64 letters and digits');
  return {node_id, queue_id};
};

const wrong = (path: string, detail: string): Fault =>
  new Fault('invalid_parameter', `${path} ${detail}`, {fields: [{path, detail}]});

const maxBytes = 64 * 1024;
/** Enough for a thousand mails with the longest node ids and queue IDs. */
const maxBulkBytes = 256 * 1024;
const maxPeerBytes = 8 * 1024 * 1024;
const maxDepth = 32;
const mediaTypes = ['application/json', 'application/merge-patch+json'];

/** Reads and parses the JSON body. An optional one is `{}` when it is left out, and is read, so that no part of the request is ignored. */
export const jsonBodyOf = async (request: IncomingMessage, {isOptional, isBulk}: Partial<RequestBody>): Promise<unknown> => {
  const limit = isBulk ? maxBulkBytes : maxBytes;
  if (!isOptional) return requiredBodyOf(request, limit);
  const bytes = await read(request, limit);
  if (isBlank(bytes)) return {};
  requireMediaType(request);
  return parse(bytes);
};

/** For routes without a body: what a client wrote in one must not be ignored. */
export const refuseBody = async (request: IncomingMessage): Promise<void> => {
  const {'content-length': length = '0', 'transfer-encoding': encoding} = request.headers;
  if (Number(length) === 0 && encoding === undefined) return;
  const bytes = await read(request, maxBytes);
  if (!isBlank(bytes) && !isEmptyObject(parse(bytes)))
    throw new Fault('invalid_parameter', 'this request takes no body; send none, or {}');
};

/** As good as none: programs end what they send with a line end. */
const isBlank = (bytes: Buffer): boolean => bytes.every(byte => [0x20, 0x09, 0x0a, 0x0d].includes(byte));

const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;

const requiredBodyOf = async (request: IncomingMessage, limit: number): Promise<unknown> => {
  requireMediaType(request);
  return parse(await read(request, limit));
};

/** For requests between nodes. */
export const peerJsonBody: RouterMiddleware<PeerState> = async (ctx, next) => {
  ctx.state.body = await requiredBodyOf(ctx.req, maxPeerBytes);
  await next();
};

const requireMediaType = ({headers}: IncomingMessage): void => {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new Fault('unsupported_media_type', 'send the body without a Content-Encoding');
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map(part => part.trim().toLowerCase());
  if (!mediaTypes.includes(type)) throw new Fault('unsupported_media_type', `send the body as ${mediaTypes.join(' or ')}`);
  const charset = parameters
    .find(parameter => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  if (charset !== undefined && charset !== 'utf-8') throw new Fault('unsupported_media_type', 'send the body in UTF-8');
};

/** Keeps nothing beyond the limit; the HTTP server drains the rest after the answer. */
const read = async (request: IncomingMessage, limit: number): Promise<Buffer> => {
  const tooLarge = () => new Fault('payload_too_large', `the body may be at most ${limit} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
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
      if (length > limit) stop(tooLarge());
      else chunks.push(chunk);
    };
    const onEnd = () => stop();
    const onAborted = () => stop(new Fault('malformed_json', 'the body ended early'));
    request.on('data', onData).on('end', onEnd).on('aborted', onAborted).on('error', reject);
  });
};

const parse = (bytes: Buffer): unknown => {
  if (isBlank(bytes)) throw new Fault('malformed_json', 'the body is empty; send a JSON object');
  const value = valueIn(bytes);
  if (isDeeper(value, maxDepth)) throw new Fault('malformed_json', `the body is nested more than ${maxDepth} levels deep`);
  return value;
};

const valueIn = (bytes: Buffer): unknown => {
  let text: string | undefined;
  try {
    text = new TextDecoder('utf-8', {fatal: true}).decode(bytes);
    return JSON.parse(text);
  } catch (error) {
    const place = text === undefined ? '' : `: it breaks at ${jsonFault(text) ?? 'its end'}`;
    throw new Fault('malformed_json', `the body is not JSON in UTF-8${place}`, {cause: error});
  }
};

const isDeeper = (value: unknown, depth: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some(member => isDeeper(member, depth - 1));
};
