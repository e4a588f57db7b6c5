// Parsing of untrusted values with a schema.
import {z} from 'zod';

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
