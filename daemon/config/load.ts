import {readFile} from 'node:fs/promises';
import {type Document, LineCounter, parseDocument} from 'yaml';
import {z} from 'zod';
import {fieldFaults} from '../../shared/fields.ts';
import {type Config, configSchema} from './schema.ts';

/** A configuration that cannot be used: `message` is one line that names the file, the line and the key. Exit status 2. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

export interface LoadedConfig {
  config: Config;
  smarthostPassword: string | undefined;
  rspamdPassword: string | undefined;
  /** `MFD_…` variables that name no key. */
  unknownVariables: string[];
}

type Environment = Record<string, string | undefined>;

/** Reads `mfd.yaml`, lays `MFD_*` over it (`MFD_SMTP_LISTEN` for `smtp.listen`; lists separated by commas), and checks. */
export const loadConfig = async (file: string, environment: Environment): Promise<LoadedConfig> => {
  const lines = new LineCounter();
  const document = parseDocument(await readText(file, file), {lineCounter: lines, uniqueKeys: true});
  const [broken] = document.errors;
  if (broken) throw new ConfigError(`${file}:${lines.linePos(broken.pos[0]).line}: ${broken.message.split('\n')[0]}`);

  const values = (document.toJS() ?? {}) as unknown;
  const overrides = overridesIn(environment);
  const parsed = configSchema.safeParse(overrides.set.reduce((into, {path, value}) => withValue(into, path, value), values));
  if (!parsed.success) throw configError(file, document, lines, parsed.error, overrides.set);

  const {smtp, scanner, api} = parsed.data;
  if ((api.cert_file === undefined) !== (api.key_file === undefined))
    throw new ConfigError(`${file}: api.cert_file and api.key_file go together; give both or neither`);
  return {
    config: parsed.data,
    smarthostPassword: await secret(smtp.smarthost_password_file, 'smtp.smarthost_password_file'),
    rspamdPassword: await secret(scanner.rspamd_password_file, 'scanner.rspamd_password_file'),
    unknownVariables: overrides.unknown,
  };
};

export const readText = async (file: string, key: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const {code} = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new ConfigError(key === file ? `${file} ${why}` : `${key}: ${file} ${why}`);
  }
};

const secret = async (file: string | undefined, key: string): Promise<string | undefined> =>
  file === undefined ? undefined : (await readText(file, key)).trim();

const configError = (
  file: string,
  document: Document,
  lines: LineCounter,
  error: z.ZodError,
  overrides: Override[],
): ConfigError => {
  const [{path, detail} = {path: '', detail: 'is not valid'}] = fieldFaults(error);
  const keys = path.split('.').filter(Boolean);
  const override = overrides.find(({path: overridden}) => overridden.join('.') === path);
  if (override) return new ConfigError(`${override.variable}: ${path} ${detail}`);

  const line = lineOf(document, lines, keys);
  const text = detail.replace('is not a known field; remove it', 'is not a known key; correct or remove it');
  return new ConfigError(`${file}${line === undefined ? '' : `:${line}`}: ${path || 'the file'} ${text}`);
};

/** The line of the key itself, or of the nearest key around it that the file mentions. */
const lineOf = (document: Document, lines: LineCounter, path: string[]): number | undefined => {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const parent = document.getIn(path.slice(0, depth - 1), true) ?? document.contents;
    const items = (parent as {items?: {key?: {value?: unknown; range?: [number]}}[]}).items ?? [];
    const offset = items.find(item => String(item.key?.value) === path[depth - 1])?.key?.range?.[0];
    if (offset !== undefined) return lines.linePos(offset).line;
  }
  return undefined;
};

interface Override {
  variable: string;
  path: string[];
  value: unknown;
}

const overridesIn = (environment: Environment): {set: Override[]; unknown: string[]} => {
  const known = new Map(leavesOf(configSchema).map(leaf => [`MFD_${leaf.path.join('_').toUpperCase()}`, leaf]));
  const set: Override[] = [];
  const unknown: string[] = [];
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith('MFD_') || text === undefined) continue;
    const leaf = known.get(variable);
    if (leaf) set.push({variable, path: leaf.path, value: inTypeOf(leaf.schema, text)});
    else unknown.push(variable);
  }
  return {set, unknown};
};

interface Leaf {
  path: string[];
  schema: z.ZodType;
}

/** Every key of the schema, in the order of the schema. */
export const leavesOf = (schema: z.ZodType, path: string[] = []): Leaf[] => {
  const inner = unwrapped(schema);
  if (!(inner instanceof z.ZodObject)) return [{path, schema}];
  return Object.entries(inner.shape).flatMap(([name, member]) => leavesOf(member as z.ZodType, [...path, name]));
};

const unwrapped = (schema: z.ZodType): z.ZodType => {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault || schema instanceof z.ZodOptional)
    return unwrapped(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodPipe ? unwrapped(schema.in as z.ZodType) : schema;
};

/** Text as the key's type would be written in the file. */
const inTypeOf = (schema: z.ZodType, text: string): unknown => {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray)
    return text
      .split(',')
      .map(item => item.trim())
      .filter(Boolean);
  if (inner instanceof z.ZodBoolean) return text === 'true' ? true : text === 'false' ? false : text;
  if (inner instanceof z.ZodNumber && /^[+-]?\d+(\.\d+)?$/.test(text)) return Number(text);
  return text;
};

const withValue = (values: unknown, [name, ...rest]: string[], value: unknown): unknown => {
  if (name === undefined) return value;
  const object =
    typeof values === 'object' && values !== null && !Array.isArray(values) ? (values as Record<string, unknown>) : {};
  return {...object, [name]: withValue(object[name], rest, value)};
};
