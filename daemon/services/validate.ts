import type {z} from 'zod';
import {Fault, type FaultCode, type FieldFault} from '../../shared/fault.ts';
import {fieldFaults} from '../../shared/fields.ts';

/** What `schema` makes of a request body; a Fault `validation_failed` that lists every wrong field. */
export const validate = <S extends z.ZodType>(schema: S, body: unknown): z.output<S> => {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw faultOf('validation_failed', fieldFaults(parsed.error));
};

/** The same for query parameters and path ids: a Fault `invalid_parameter` that names them. */
export const validateParameters = <S extends z.ZodType>(schema: S, parameters: unknown): z.output<S> => {
  const parsed = schema.safeParse(parameters);
  if (parsed.success) return parsed.data;
  const fields = fieldFaults(parsed.error).map(({path, detail}) => ({
    path,
    detail: detail.replace('is not a known field; remove it', 'is not a known parameter; remove it'),
  }));
  throw faultOf('invalid_parameter', fields);
};

/** One wrong field, found by a rule that no schema can know. */
export const invalidField = (path: string, detail: string): Fault => faultOf('validation_failed', [{path, detail}]);

const faultOf = (code: FaultCode, fields: FieldFault[]): Fault =>
  new Fault(
    code,
    fields
      .map(({path, detail}) => (path ? `${path} ${detail}` : detail))
      .join('; ')
      .slice(0, 1000),
    {fields},
  );
