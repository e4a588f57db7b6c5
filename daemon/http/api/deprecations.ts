// Deprecated parts of a description that a request can use: operations, parameters, and members of the body.
import type {Deprecation} from '../../../shared/deprecation.ts';
import type {Description} from './openapi.ts';

export interface DeprecatedUse {
  /** The `operationId`. */
  operation: string;
  method: string;
  /** Path of the operation below the API's prefix: `/domains/{id}`. */
  path: string;
  /** The part that a request has to contain. */
  part: DeprecatedPart;
  deprecation: Deprecation;
}

export type DeprecatedPart =
  | {in: 'operation'}
  | {in: 'query' | 'header'; name: string}
  /** `*` stands for each entry of a list. */
  | {in: 'body'; path: string[]};

interface Marked {
  'x-deprecation'?: Deprecation;
}

interface Schema extends Marked {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

interface DescribedOperation extends Marked {
  operationId: string;
  parameters?: ({name: string; in: string} & Marked)[];
  requestBody?: {content: Record<string, {schema: Schema}>};
}

export const deprecationsIn = (description: Description): DeprecatedUse[] => {
  const paths = (description.paths ?? {}) as Record<string, Record<string, DescribedOperation>>;
  const schemas = (description.components?.schemas ?? {}) as Record<string, Schema>;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      partsOf(operation, schemas).map(found => ({
        operation: operation.operationId,
        method: method.toUpperCase(),
        path,
        ...found,
      })),
    ),
  );
};

interface Found {
  part: DeprecatedPart;
  deprecation: Deprecation;
}

const partsOf = (operation: DescribedOperation, schemas: Record<string, Schema>): Found[] => {
  const {parameters = [], requestBody} = operation;
  // All content types have the same schema.
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
  return [
    ...found(operation, {in: 'operation'}),
    ...parameters.flatMap(parameter =>
      parameter.in === 'query' || parameter.in === 'header' ? found(parameter, {in: parameter.in, name: parameter.name}) : [],
    ),
    ...(schema ? membersOf(schema, {schemas, path: [], seen: []}) : []),
  ];
};

const found = ({'x-deprecation': deprecation}: Marked, part: DeprecatedPart): Found[] =>
  deprecation ? [{part, deprecation}] : [];

interface Position {
  schemas: Record<string, Schema>;
  path: string[];
  /** References on the path so far, as a schema may contain itself. */
  seen: string[];
}

const membersOf = (schema: Schema, position: Position): Found[] => {
  const {schemas, path, seen} = position;
  const {$ref, properties = {}, items, allOf = [], anyOf = [], oneOf = []} = schema;
  if ($ref !== undefined) {
    const target = schemas[$ref.replace('#/components/schemas/', '')];
    return target === undefined || seen.includes($ref) ? [] : membersOf(target, {...position, seen: [...seen, $ref]});
  }
  const below = (step: string) => ({...position, path: [...path, step]});
  return [
    ...Object.entries(properties).flatMap(([name, property]) => [
      ...found(property, {in: 'body', path: [...path, name]}),
      ...membersOf(property, below(name)),
    ]),
    ...(items ? membersOf(items, below('*')) : []),
    ...[...allOf, ...anyOf, ...oneOf].flatMap(part => membersOf(part, position)),
  ];
};
