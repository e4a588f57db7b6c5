import {STATUS_CODES} from 'node:http';
import {z} from 'zod';
import type {Fault, FaultCode, FieldFault} from './fault.ts';

/** The non-null `error` member of the envelope. */
export interface ErrorValue {
  code: FaultCode;
  detail: string;
  fields?: FieldFault[];
  required_scopes?: string[];
  request_id: string;
}

export interface Envelope<T> {
  data: T;
  error: ErrorValue | null;
  message: string;
}

export type SuccessMessage = 'OK' | 'Created' | 'Partial';

export const success = <T>(data: T, message: SuccessMessage = 'OK'): Envelope<T> => ({data, error: null, message});

export const failure = (fault: Fault, requestId: string): Envelope<null> => ({
  data: null,
  error: {
    code: fault.code,
    detail: fault.detail,
    ...(fault.details.fields && {fields: fault.details.fields}),
    ...(fault.details.requiredScopes && {required_scopes: fault.details.requiredScopes}),
    request_id: requestId,
  },
  message: STATUS_CODES[fault.status] ?? 'Error',
});

/** Schema of a successful answer that carries `data`. */
export const successSchema = (data: z.ZodType, message: SuccessMessage[] = ['OK']) =>
  z.strictObject({data, error: z.null(), message: z.enum(message)});

export const errorSchema = z
  .strictObject({
    data: z.null(),
    error: z.strictObject({
      code: z.string().meta({description: 'Stable, machine-readable', example: 'validation_failed'}),
      detail: z.string().meta({description: 'What is wrong and what to do about it'}),
      fields: z.array(z.strictObject({path: z.string(), detail: z.string()})).optional(),
      required_scopes: z.array(z.string()).optional(),
      request_id: z.string().meta({description: 'The value of X-Request-Id, to quote to the operator'}),
    }),
    message: z.string().meta({example: 'Unprocessable Entity'}),
  })
  .meta({id: 'Failure', description: 'Envelope of the answer to a failed request'});
