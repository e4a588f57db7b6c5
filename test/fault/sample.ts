// Values that a JSON schema of the interface description permits, and sometimes one that it does not.
import type {Description} from '../helpers/described.ts';
import type {Random} from './random.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  format?: string;
  example?: unknown;
  default?: unknown;
}

const texts = ['x', 'a.test', 'made.test', 'mx.test:25', 's1', 'A name', '[::1]:25', 'ben@example.com', 'é\u202e'];
const times = ['2026-01-01T00:00:00Z', '2099-12-31T23:59:59.999+14:00', '2099-01-01T00:00:00Z', '1970-01-01T00:00:00Z'];

/** The share of values with another type than the schema requires. */
const wrongShare = 0.03;

export const createSampler = (document: Description): ((random: Random, schema: object) => unknown) => {
  const resolve = (pointer: string): Schema =>
    pointer
      .slice(2)
      .split('/')
      .reduce<unknown>((part, step) => (part as Record<string, unknown>)[step.replaceAll('~1', '/')], document) as Schema;

  const sample = (random: Random, schema: Schema): unknown => {
    if (random.chance(wrongShare)) return random.pick([null, 0, -1, '', 'x', [], {}, true, 1e308]);
    if (schema.$ref !== undefined) return sample(random, resolve(schema.$ref));
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return random.pick(schema.enum);
    if (schema.example !== undefined && random.chance(0.5)) return schema.example;
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return sample(random, random.pick(choices));
    if (schema.allOf) return Object.assign({}, ...schema.allOf.map(part => sample(random, part) as object));
    return typed(random, schema);
  };

  const typed = (random: Random, schema: Schema): unknown => {
    const types = [schema.type ?? 'object'].flat();
    const {minimum = 0, maximum = 1000} = schema;
    switch (random.pick(types)) {
      case 'string':
        return schema.format === 'date-time' ? random.pick(times) : random.pick(texts);
      case 'integer':
        return random.pick([minimum, maximum, random.between(Math.max(minimum, -1e6), Math.min(maximum, 1e6))]);
      case 'number':
        return random.pick([minimum, maximum, minimum + random.next() * (maximum - minimum)]);
      case 'boolean':
        return random.chance(0.5);
      case 'null':
        return null;
      case 'array':
        return Array.from({length: random.between(0, 3)}, () => sample(random, schema.items ?? {}));
      default:
        return Object.fromEntries(
          Object.entries(schema.properties ?? {})
            .filter(([name]) => schema.required?.includes(name) || random.chance(0.4))
            .map(([name, property]) => [name, sample(random, property)]),
        );
    }
  };
  return sample;
};
