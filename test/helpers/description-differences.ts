// Comparison of two versions of an interface description: what breaks clients, and which version the newer one must have.
import {isDeepStrictEqual} from 'node:util';
import type {Deprecation} from '../../daemon/http/api/endpoint.ts';
import {breakingIn, type Difference, type Located, type Schema} from './schema-differences.ts';

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  style?: string;
  explode?: boolean;
  schema: Schema;
  'x-deprecation'?: Deprecation;
}

interface Answer {
  $ref?: string;
  headers?: Record<string, {required?: boolean; schema: Schema}>;
  content?: Record<string, {schema: Schema}>;
}

interface Operation {
  operationId: string;
  security?: object[];
  parameters?: Parameter[];
  requestBody?: {required?: boolean; content: Record<string, {schema: Schema}>};
  responses: Record<string, Answer>;
  'x-deprecation'?: Deprecation;
}

export interface DescribedApi {
  info: {version: string};
  paths: Record<string, Record<string, Operation>>;
  components: {schemas?: Record<string, Schema>; responses?: Record<string, Answer>};
}

export const breakingDifferences = (old: DescribedApi, now: DescribedApi): Difference[] =>
  Object.entries(old.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const same = now.paths[path]?.[method];
      if (!same) return [{what: `${name}: removed`, removed: {deprecation: operation['x-deprecation']}}];
      const both: Both<Operation> = {old: operation, now: same, documents: {old, now}};
      return [
        ...(operation.operationId === same.operationId ? [] : [{what: `${name}: the operationId is another one`}]),
        ...(isDeepStrictEqual(operation.security, same.security) ? [] : [{what: `${name}: the security is another one`}]),
        ...parameterDifferences(both, name),
        ...bodyDifferences(both, name),
        ...answersDifferences(both, name),
      ];
    }),
  );

interface Both<T> {
  old: T;
  now: T;
  documents: {old: DescribedApi; now: DescribedApi};
}

const versionsOf = ({old, now, documents}: Both<Schema>): {old: Located; now: Located} => ({
  old: {schema: old, schemas: documents.old.components.schemas ?? {}},
  now: {schema: now, schemas: documents.now.components.schemas ?? {}},
});

const parameterDifferences = ({old, now, documents}: Both<Operation>, name: string): Difference[] => {
  const [before, after] = [old.parameters ?? [], now.parameters ?? []];
  const sameOf = (among: Parameter[], one: Parameter) => among.find(other => other.name === one.name && other.in === one.in);
  return [
    ...before.flatMap((one): Difference[] => {
      const same = sameOf(after, one);
      const at = `${name} ?${one.name}`;
      if (!same) return [{what: `${at}: removed`, removed: {deprecation: one['x-deprecation']}}];
      return [
        ...(same.required && !one.required ? [{what: `${at}: required now`}] : []),
        ...(same.style === one.style && same.explode === one.explode ? [] : [{what: `${at}: written in another way`}]),
        ...breakingIn('request', versionsOf({old: one.schema, now: same.schema, documents}), at),
      ];
    }),
    ...after
      .filter(one => one.required && !sameOf(before, one))
      .map(one => ({what: `${name} ?${one.name}: required, and was not there`})),
  ];
};

const bodyDifferences = ({old, now, documents}: Both<Operation>, name: string): Difference[] => {
  const [before, after] = [old.requestBody, now.requestBody];
  const at = `${name} body`;
  return [
    ...(after?.required && !before?.required ? [{what: `${at}: required now`}] : []),
    ...Object.entries(before?.content ?? {}).flatMap(([type, {schema}]): Difference[] => {
      const same = after?.content[type];
      if (!same) return [{what: `${at}: ${type} is not taken now`}];
      return breakingIn('request', versionsOf({old: schema, now: same.schema, documents}), at);
    }),
  ];
};

const answersDifferences = ({old, now, documents}: Both<Operation>, name: string): Difference[] =>
  Object.entries(old.responses).flatMap(([status, answer]): Difference[] => {
    const same = now.responses[status];
    const at = `${name} ${status}`;
    if (!same) return [{what: `${at}: removed`}];
    return answerDifferences({old: referred(answer, documents.old), now: referred(same, documents.now), documents}, at);
  });

const referred = (answer: Answer, {components}: DescribedApi): Answer =>
  answer.$ref === undefined ? answer : (components.responses?.[answer.$ref.replace('#/components/responses/', '')] ?? {});

const answerDifferences = ({old, now, documents}: Both<Answer>, at: string): Difference[] => [
  ...Object.entries(old.headers ?? {}).flatMap(([header, {required, schema}]): Difference[] => {
    const same = now.headers?.[header];
    if (!same) return [{what: `${at} ${header}: removed`}];
    return [
      ...(required && !same.required ? [{what: `${at} ${header}: not always there now`}] : []),
      ...breakingIn('answer', versionsOf({old: schema, now: same.schema, documents}), `${at} ${header}`),
    ];
  }),
  ...Object.entries(old.content ?? {}).flatMap(([type, {schema}]): Difference[] => {
    const same = now.content?.[type];
    if (!same) return [{what: `${at}: ${type} does not come now`}];
    return breakingIn('answer', versionsOf({old: schema, now: same.schema, documents}), at);
  }),
];

export type Change = 'major' | 'minor' | 'patch' | 'none';

/** The part of the version that must grow: major for what breaks clients, minor for additions, patch for wording. */
export const changeBetween = (old: DescribedApi, now: DescribedApi): Change => {
  if (breakingDifferences(old, now).length > 0) return 'major';
  const [before, after] = [old, now].map(document => ({...document, info: {...document.info, version: ''}}));
  if (!isDeepStrictEqual(withoutWording(before), withoutWording(after))) return 'minor';
  return isDeepStrictEqual(before, after) ? 'none' : 'patch';
};

/** Whether `version` has grown from `old` by at least what `change` requires. */
export const hasGrown = (old: string, version: string, change: Change): boolean => {
  const [major, minor, patch] = [0, 1, 2].map(n => Math.sign(Number(version.split('.')[n]) - Number(old.split('.')[n]))) as [
    number,
    number,
    number,
  ];
  const isGreater = {major: major > 0, minor: major > 0 || (major === 0 && minor > 0)};
  switch (change) {
    case 'major':
      return isGreater.major;
    case 'minor':
      return isGreater.minor;
    case 'patch':
      return isGreater.minor || (major === 0 && minor === 0 && patch > 0);
    case 'none':
      return true;
    default:
      return change satisfies never;
  }
};

const wording = ['description', 'summary', 'example', 'title'];

/** Members of `properties` are names, so any word is possible. */
const withoutWording = (value: unknown, areNames = false): unknown => {
  if (Array.isArray(value)) return value.map(entry => withoutWording(entry));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => areNames || !wording.includes(name))
      .map(([name, member]) => [name, withoutWording(member, name === 'properties' && !areNames)]),
  );
};

/** Removals that were not announced, or whose announced date is later than `today`, such as `2027-01-01`. */
export const earlyRemovals = (differences: readonly Difference[], today: string): string[] =>
  differences.flatMap(({what, removed}) => {
    if (!removed) return [];
    const {deprecation} = removed;
    if (!deprecation) return [`${what} without having been deprecated`];
    return deprecation.sunset > today ? [`${what} before ${deprecation.sunset}`] : [];
  });

/** What is wrong with the deprecation dates of a description: each mark needs both dates, at least six months apart. */
export const deprecationFaults = (value: unknown, at = ''): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  const {deprecated, 'x-deprecation': mark} = value as {deprecated?: unknown; 'x-deprecation'?: Partial<Deprecation>};
  const below = Object.entries(value).flatMap(([name, member]) => deprecationFaults(member, `${at}/${name}`));
  if (deprecated !== true && mark === undefined) return below;
  const isWhole = deprecated === true && [mark?.since, mark?.sunset].every(day => /^\d{4}-\d\d-\d\d$/.test(day ?? ''));
  if (!isWhole) return [...below, `${at}: deprecated without the days since and sunset`];
  return sixMonthsAfter(mark?.since ?? '') > (mark?.sunset ?? '') ? [...below, `${at}: less than six months of notice`] : below;
};

const sixMonthsAfter = (day: string): string => {
  const date = new Date(day);
  date.setUTCMonth(date.getUTCMonth() + 6);
  return date.toISOString().slice(0, 10);
};
