import type {z} from 'zod';
import {Fault} from '../../shared/fault.ts';
import {nodeIdPattern, queueIdPattern} from '../../shared/fields.ts';
import type {MailReference} from '../../shared/held-mail.ts';
import {noQuerySchema} from '../../shared/hold-filter.ts';
import {validateParameters} from '../services/validate.ts';
import type {Ctx} from './api/state.ts';

/** Parses the query string by `schema`. Throws a Fault that names a repeated, unknown or invalid parameter. */
export const queryOf = <S extends z.ZodType>(ctx: Ctx, schema: S): z.output<S> => {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(ctx.querystring)) {
    if (parameters.has(name)) throw wrong(name, 'is given twice');
    parameters.set(name, value);
  }
  return validateParameters(schema, Object.fromEntries(parameters));
};

export const requireNoQuery = (ctx: Ctx): void => {
  if (ctx.querystring !== '') queryOf(ctx, noQuerySchema);
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
