// What others sent, held against a schema.
import {z} from 'zod';

/**
 * What `schema` makes of `value`; never throws, whatever that is. Zod compares the `length` of everything that has one, and what JSON
 * can make of a `length` cannot always be compared: `{"length": {"toString": 1}}`.
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
