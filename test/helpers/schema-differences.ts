// Differences between two versions of a JSON schema: what has become narrower or wider, as the interface descriptions use it.
import type {Deprecation} from '../../daemon/http/api/endpoint.ts';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  default?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  'x-deprecation'?: Deprecation;
  [bound: string]: unknown;
}

/** A schema with the document that its references point into. */
export interface Located {
  schema: Schema;
  schemas: Record<string, Schema>;
}

export interface Difference {
  what: string;
  /** For a removal: the announcement in the old version, if there was one. */
  removed?: {deprecation: Deprecation | undefined};
}

export interface Versions {
  old: Located;
  now: Located;
}

type Direction = 'request' | 'answer';

/**
 * Changes that break clients of the old version. A request must still accept everything that it accepted; an answer must not
 * contain anything that it could not contain before, apart from additional fields.
 */
export const breakingIn = (direction: Direction, {old, now}: Versions, where: string): Difference[] => {
  const walk = (from: Located, to: Located, at: string, seen: readonly string[]): Difference[] => {
    const pair = `${from.schema.$ref} ${to.schema.$ref}`;
    if (from.schema.$ref !== undefined && seen.includes(pair)) return [];
    const next = [...seen, pair];
    const [before, after] = [alternatives(from), alternatives(to)];
    const [inner, outer] = direction === 'request' ? [before, after] : [after, before];
    const changed = resolved(from).default;
    const isDefaultChanged =
      direction === 'request' && changed !== undefined && JSON.stringify(changed) !== JSON.stringify(resolved(to).default);
    return [
      ...(isDefaultChanged ? [{what: `${at}: the default is another one`}] : []),
      ...inner.flatMap(one => {
        const fits = outer.map(other => (direction === 'request' ? narrowed(one, other) : narrowed(other, one)));
        return fits.find(differences => differences.length === 0) ?? fits.toSorted((a, b) => a.length - b.length)[0] ?? [];
      }),
    ];

    /** The reasons why the inner alternative is not within the outer one; the arguments are in the order of time. */
    function narrowed(earlier: Schema, later: Schema): Difference[] {
      const [one, other] = direction === 'request' ? [earlier, later] : [later, earlier];
      if (!isTypeWithin(one, other))
        return [{what: `${at}: ${String(one.type ?? 'anything')} ${direction === 'request' ? 'is refused' : 'may come'} now`}];
      return [
        ...valueDifferences(one, other).map(what => ({what: `${at}: ${what}`})),
        ...memberDifferences(earlier, later),
        ...(earlier.items || later.items ? below(earlier.items ?? {}, later.items ?? {}, '[]') : []),
      ];
    }

    function below(earlier: Schema, later: Schema, step: string): Difference[] {
      return walk({schema: earlier, schemas: old.schemas}, {schema: later, schemas: now.schemas}, `${at}${step}`, next);
    }

    function memberDifferences(earlier: Schema, later: Schema): Difference[] {
      const fields = Object.entries(earlier.properties ?? {}).flatMap(([name, property]): Difference[] => {
        const same = later.properties?.[name];
        if (same !== undefined) return below(property, same, `.${name}`);
        if (direction === 'request' && later.additionalProperties !== false) return [];
        return [{what: `${at}.${name}: removed`, removed: {deprecation: property['x-deprecation']}}];
      });
      const [always, before] = direction === 'request' ? [later, earlier] : [earlier, later];
      const required = (always.required ?? [])
        .filter(name => !before.required?.includes(name) && (direction === 'request' || later.properties?.[name] !== undefined))
        .map(name => ({what: `${at}.${name}: ${direction === 'request' ? 'required now' : 'not always there now'}`}));
      const isClosed = direction === 'request' && later.additionalProperties === false && earlier.additionalProperties !== false;
      return [...fields, ...required, ...(isClosed && earlier.properties ? [{what: `${at}: other fields are refused now`}] : [])];
    }
  };

  const valueDifferences = (one: Schema, other: Schema): string[] => [
    ...(other.enum && !(one.enum ?? [undefined]).every(value => other.enum?.includes(value))
      ? [direction === 'request' ? 'values are refused now' : 'other values may come now']
      : []),
    ...(other.format !== undefined && one.format !== other.format ? ['the format is another one'] : []),
    ...(direction === 'request' ? boundDifferences(one, other) : []),
  ];

  return walk(old, now, where, []);
};

const upper = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'];
const lower = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'];

const boundDifferences = (one: Schema, other: Schema): string[] => {
  const isNarrower = (name: string, sign: 1 | -1): boolean =>
    other[name] !== undefined && (one[name] === undefined || sign * Number(one[name]) > sign * Number(other[name]));
  return [
    ...upper.filter(name => isNarrower(name, 1)).map(name => `${name} is lower`),
    ...lower.filter(name => isNarrower(name, -1)).map(name => `${name} is higher`),
    ...(other.pattern !== undefined && one.pattern !== other.pattern ? ['the pattern is another one'] : []),
  ];
};

const isTypeWithin = (one: Schema, other: Schema): boolean =>
  other.type === undefined || one.type === other.type || (one.type === 'integer' && other.type === 'number');

/** The schema without a reference or `allOf` at its top. */
const resolved = ({schema, schemas}: Located): Schema => {
  if (schema.$ref !== undefined)
    return resolved({schema: schemas[schema.$ref.replace('#/components/schemas/', '')] ?? {}, schemas});
  const {allOf, ...own} = schema;
  if (!allOf) return own;
  const parts = [own, ...allOf.map(part => resolved({schema: part, schemas}))];
  return Object.assign({}, ...parts, {
    properties: Object.assign({}, ...parts.map(({properties}) => properties)),
    required: parts.flatMap(({required = []}) => required),
  });
};

/** A value is valid by one of these, each of which has at most one type. */
const alternatives = (located: Located): Schema[] => {
  const schema = resolved(located);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.flatMap(choice => alternatives({schema: choice, schemas: located.schemas}));
  const values = schema.const === undefined ? schema : {...schema, enum: [schema.const]};
  return Array.isArray(values.type) ? values.type.map(type => ({...values, type})) : [values];
};
