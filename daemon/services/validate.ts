import type {z} from 'zod';
import {Fault, type FaultCode, type FieldFault} from '../../shared/fault.ts';
import {fieldFaults} from '../../shared/fields.ts';
import {parseSafely} from './safe-parse.ts';

/**
 * What `schema` makes of a request body; a Fault `validation_failed` that lists every wrong field, `known` being those
 * that were found before.
 */
export const validate = <S extends z.ZodType>(schema: S, body: unknown, known: FieldFault[] = []): z.output<S> => {
  const parsed = parseSafely(schema, body);
  if (parsed.success && known.length === 0) return parsed.data;
  throw invalidFields([...known, ...(parsed.error ? fieldFaults(parsed.error) : [])]);
};

/** The same for query parameters and path ids: a Fault `invalid_parameter` that names them. */
export const validateParameters = <S extends z.ZodType>(schema: S, parameters: unknown): z.output<S> => {
  const parsed = parseSafely(schema, parameters);
  if (parsed.success) return parsed.data;
  const fields = fieldFaults(parsed.error).map(({path, detail}) => ({
    path,
    detail: detail.replace('is not a known field; remove it', 'is not a known parameter; remove it'),
  }));
  throw faultOf('invalid_parameter', fields);
};

/** Wrong fields, found by rules that no schema can know. */
export const invalidFields = (fields: FieldFault[]): Fault => faultOf('validation_failed', fields);

const faultOf = (code: FaultCode, fields: FieldFault[]): Fault =>
  new Fault(
    code,
    fields
      .map(({path, detail}) => (path ? `${path} ${detail}` : detail))
      .join('; ')
      .slice(0, 1000),
    {fields},
  );
