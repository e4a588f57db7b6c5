// Checks of request bodies and parameters against their schemas.
import {z} from 'zod';
import {Fault, type FaultCode, type FieldFault} from '../../shared/fault.ts';
import {fieldFaults, isObject} from '../../shared/fields.ts';

/**
 * Parses a request body with `schema`. Throws a Fault `validation_failed` that lists every wrong field; `known` are wrong fields
 * that the caller has already found.
 */
export const validate = <S extends z.ZodType>(schema: S, body: unknown, known: FieldFault[] = []): z.output<S> => {
  const parsed = parseSafely(schema, body);
  if (parsed.success && known.length === 0) return parsed.data;
  throw invalidFields([...known, ...(parsed.error ? fieldFaults(parsed.error) : [])]);
};

/** Parses query parameters or path ids. Throws a Fault `invalid_parameter` that lists the wrong ones. */
export const validateParameters = <S extends z.ZodType>(schema: S, parameters: unknown): z.output<S> => {
  const parsed = parseSafely(schema, parameters);
  if (parsed.success) return parsed.data;
  const fields = fieldFaults(parsed.error).map(({path, detail}) => ({
    path,
    detail: detail.replace('is not a known field; remove it', 'is not a known parameter; remove it'),
  }));
  throw faultOf('invalid_parameter', fields);
};

/** The own members of a body that is not validated yet, for rules that a schema cannot express; none where it is no object. */
export const membersOf = (body: unknown): Record<string, unknown> =>
  Object.assign(Object.create(null), isObject({value: body}) ? body : {});

/** A Fault for wrong fields found by rules that a schema cannot express. */
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

/**
 * Parses any `value` with `schema` and never throws. Zod's `safeParse` does throw for some JSON: it compares the `length` of every
 * value that has one, and a `length` such as `{"toString": 1}` cannot be compared.
 */
export const parseSafely = <S extends z.ZodType>(schema: S, value: unknown): z.ZodSafeParseResult<z.output<S>> => {
  try {
    return schema.safeParse(value);
  } catch (thrown) {
    if (!(thrown instanceof TypeError) || thrown.message !== 'Cannot convert object to primitive value') throw thrown;
    const message = 'has an object where a text or a list is expected';
    const error = new z.ZodError([{code: 'custom', path: [], message, input: value}]);
    return {success: false, error: error as z.ZodError<z.output<S>>};
  }
};
