// Operation of the API as listed in the descriptions, and short forms to write one.
import type {RouteConfig, ZodContentObject} from '@asteasolutions/zod-to-openapi';
import {z} from 'zod';
import {type SuccessMessage, successSchema} from '../../../shared/envelope.ts';
import {id, nodeId, queueId} from '../../../shared/fields.ts';

export interface Operation extends Pick<RouteConfig, 'method' | 'path' | 'request'> {
  /** Generated clients use it as the name of a function. */
  operationId: string;
  tag: string;
  summary: string;
  success: Success;
  /** Statuses of failures that not every operation has. */
  failures?: readonly FailureStatus[];
  deprecated?: Deprecation;
}

/** The announcement that something will be removed from the API. Days are in UTC. */
export interface Deprecation {
  /** Day of the announcement, such as `2027-01-01`. */
  since: string;
  /** First day on which it may be removed: at least six months after `since`. */
  sunset: string;
  /** A page that says what to use instead. */
  page?: string;
}

export interface Success {
  status: 200 | 201;
  content: ZodContentObject;
  headers?: Headers;
  /** Headers for the administrators' description only. */
  moreHeaders?: Headers;
}

export type Headers = Record<string, Header>;

/** A type alias, as the generator's own type has an index signature. */
type Header = {
  description: string;
  /** True when every such answer has the header. */
  required?: boolean;
  schema: {type: 'string' | 'integer'};
};

export type FailureStatus = 400 | 401 | 403 | 404 | 409 | 412 | 413 | 415 | 422 | 429 | 500 | 502 | 503 | 504;

export const header = (description: string, type: 'string' | 'integer' = 'string'): Header => ({description, schema: {type}});

export const unreachableNodes = (description: string): Headers => ({'X-Unreachable-Nodes': header(description)});

export const json = (schema: z.ZodType): ZodContentObject => ({'application/json': {schema}});

interface SuccessOptions {
  messages?: SuccessMessage[];
  headers?: Headers;
  moreHeaders?: Headers;
}

export const ok = (data: z.ZodType, {messages = ['OK'], ...headers}: SuccessOptions = {}): Success => ({
  status: 200,
  content: json(successSchema(data, messages)),
  ...headers,
});

/** An answer that several nodes give; without some of them it is partial, and `missing` says what it lacks. */
export const gathered = (data: z.ZodType, missing: string): Success =>
  ok(data, {messages: ['OK', 'Partial'], headers: unreachableNodes(missing)});

/** A page of a list that several nodes have. */
export const gatheredPage = (entry: z.ZodType, {total, missing}: {total: string; missing: string}): Success =>
  ok(z.array(entry), {
    messages: ['OK', 'Partial'],
    headers: {
      'X-Total-Count': header(total, 'integer'),
      ...unreachableNodes(missing),
      Link: header('first, prev and next (RFC 8288)'),
    },
  });

export const created = (data: z.ZodType, headers: Omit<SuccessOptions, 'messages'> = {}): Success => ({
  status: 201,
  content: json(successSchema(data, ['Created'])),
  ...headers,
});

export const body = (schema: z.ZodType, {alsoPatch = false, required = true} = {}) => ({
  body: {
    required,
    content: {...json(schema), ...(alsoPatch && {'application/merge-patch+json': {schema}})},
  },
});

/** Failures of an operation with a body. */
export const bodyFailures = [413, 415, 422] as const;

export const idParameter = z.object({id: id.meta({description: 'Identifier'})});
export const nodeParameter = z.object({node_id: nodeId.meta({description: 'The node'})});
export const mailParameters = z.object({
  node_id: nodeId.meta({description: 'Owner node'}),
  queue_id: queueId.meta({description: 'Identifier on the owner node'}),
});
