// Keys of mfd.yaml as sections of a page, from the schema that checks the file.
import {z} from 'zod';
import {leavesOf} from '../daemon/config/load.ts';
import {type Config, configSchema} from '../daemon/config/schema.ts';
import {fixedChanges} from '../daemon/node/live-settings.ts';
import {groupBy} from '../shared/collections.ts';
import {bold, definition, italic, plain, sentence} from './roff.ts';

type Leaf = ReturnType<typeof leavesOf>[number];

interface JsonSchema {
  type?: string;
  description?: string;
  enum?: string[];
  format?: string;
  minimum?: number;
  maximum?: number;
  anyOf?: unknown[];
}

export const configSections = (): string => {
  const sections = groupBy(leavesOf(configSchema), ({path}) => (path.length > 1 ? (path[0] ?? '') : ''));
  return [...sections]
    .map(([name, leaves]) => [...(name === '' ? [] : [`.SS ${plain(name)}`]), ...leaves.map(keyEntry)].join('\n'))
    .join('\n');
};

const keyEntry = ({path, schema}: Leaf): string => {
  const json = z.toJSONSchema(schema, {io: 'input'}) as JsonSchema;
  const fallback = defaultText(path, json);
  const term = `${bold(path.join('.'))}: ${italic(typeText(path, json))}${fallback === undefined ? '' : `, default ${bold(fallback)}`}`;
  return definition(term, [
    plain(sentence(json.description ?? '')),
    `Variable: ${bold(`MFD_${path.join('_').toUpperCase()}`)}.${needsRestart(path) ? ' A change needs a restart.' : ''}`,
  ]);
};

const typeText = (path: readonly string[], {type, enum: choices, format, minimum, maximum, anyOf}: JsonSchema): string => {
  if (choices) return choices.join(' | ');
  if (anyOf) return 'size';
  if (type === 'boolean') return 'true | false';
  if (type === 'array') return 'list';
  if (type === 'integer' || type === 'number') {
    const kind = type === 'integer' ? 'whole number' : 'number';
    return minimum === undefined ? `${kind} up to ${maximum}` : `${kind}, ${minimum} to ${maximum}`;
  }
  if (path.at(-1)?.endsWith('_file')) return 'file';
  return {uri: 'url', 'date-time': 'time'}[format ?? ''] ?? 'text';
};

const defaults = configSchema.parse({});

/** Undefined for a key that is absent by default. */
const defaultText = (path: readonly string[], {anyOf}: JsonSchema): string | undefined => {
  const value = valueAt(defaults, path);
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  if (anyOf && typeof value === 'number') return `${value / 1024 ** 2}M`;
  return value === undefined ? undefined : String(value);
};

const needsRestart = (path: readonly string[]): boolean => {
  const changed = structuredClone(defaults);
  const section = valueAt(changed, path.slice(0, -1)) as Record<string, unknown>;
  section[path.at(-1) ?? ''] = 'something else';
  return fixedChanges(defaults, changed).length > 0;
};

const valueAt = (config: Config, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], config);
