import {readFile} from 'node:fs/promises';
import {type Document, LineCounter, parseDocument, type YAMLParseError} from 'yaml';
import {z} from 'zod';
import {fieldFaults} from '../../shared/fields.ts';
import {type Config, configSchema} from './schema.ts';

/** Invalid configuration. `message` is one line that names the file, the line and the key. Exit status 2. */
export class ConfigError extends Error {
  override name = 'ConfigError';

  /** Set while the message does not name the place of the key yet, see `located`. */
  readonly key: string | undefined;

  constructor(message: string, key?: string) {
    super(message);
    this.key = key;
  }
}

export interface LoadedConfig {
  config: Config;
  smarthostPassword: string | undefined;
  smarthostCa: string | undefined;
  rspamdPassword: string | undefined;
  rspamdControllerPassword: string | undefined;
  storePassword: string | undefined;
  storeCa: string | undefined;
  /** `MFD_…` variables that name no key. */
  unknownVariables: string[];
  /** The source of the value of a key such as `api.cert_file`: file and line, or a variable. */
  whereIs(key: string): string;
}

/** Adds the place of the key to an error about a key; returns every other error unchanged. */
export const located = ({whereIs}: Pick<LoadedConfig, 'whereIs'>, error: unknown): unknown =>
  error instanceof ConfigError && error.key !== undefined ? new ConfigError(`${whereIs(error.key)}: ${error.message}`) : error;

type Environment = Record<string, string | undefined>;

/** Reads `mfd.yaml`, overrides its values by `MFD_*` (`MFD_SMTP_LISTEN` for `smtp.listen`; lists separated by commas), and checks. */
export const loadConfig = async (file: string, environment: Environment): Promise<LoadedConfig> =>
  readConfig(await readText(file, file), file, environment);

/** Reads a configuration from text; errors call it `file`, which need not exist. */
export const readConfig = async (text: string, file: string, environment: Environment): Promise<LoadedConfig> => {
  const lines = new LineCounter();
  const document = parseDocument(text, {lineCounter: lines, uniqueKeys: true});
  const [broken] = document.errors;
  if (broken) throw new ConfigError(`${file}:${lines.linePos(broken.pos[0]).line}: ${textOf(broken, text)}`);

  const overrides = overridesIn(environment);
  const values = overrides.set.reduce((into, {path, value}) => withValue(into, path, value), valuesOf(file, document));
  const parsed = configSchema.safeParse(withSections(configSchema, values));
  if (!parsed.success) throw configError(file, document, lines, parsed.error, overrides.set);

  const whereIs = (key: string): string => {
    const override = overrides.set.find(({path}) => path.join('.') === key);
    const line = lineOf(document, lines, key.split('.'));
    return override?.variable ?? (line === undefined ? file : `${file}:${line}`);
  };
  const {smtp, scanner, store} = parsed.data;
  try {
    return {
      config: parsed.data,
      smarthostPassword: await password(smtp.smarthost_password_file, 'smtp.smarthost_password_file'),
      smarthostCa: await secret(smtp.smarthost_ca_file, 'smtp.smarthost_ca_file'),
      rspamdPassword: await password(scanner.rspamd_password_file, 'scanner.rspamd_password_file'),
      rspamdControllerPassword: await password(
        scanner.rspamd_controller_password_file,
        'scanner.rspamd_controller_password_file',
      ),
      storePassword: await password(store.password_file, 'store.password_file'),
      storeCa: await secret(store.ca_file, 'store.ca_file'),
      unknownVariables: overrides.unknown,
      whereIs,
    };
  } catch (error) {
    throw located({whereIs}, error);
  }
};

/** Replaces the parser's messages, which end with the position and a quoted line, and do not name a duplicate key. */
const textOf = ({code, message, pos: [at]}: YAMLParseError, text: string): string => {
  if (code === 'DUPLICATE_KEY') return `${/^[^\s:]*/.exec(text.slice(at))?.[0]} is given twice`;
  return (message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:$/, '');
};

export const readText = async (file: string, key: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const {code} = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw key === file ? new ConfigError(`${file} ${why}${nodeAdvice(code)}`) : new ConfigError(`${key}: ${file} ${why}`, key);
  }
};

/** Without mfd.yaml, the node was not created yet, or --data names another folder. */
const nodeAdvice = (code: string | undefined): string => {
  if (code === 'ENOENT') return '; make a node there with mfd init or mfd join first, or correct --data';
  return code === 'EACCES' ? '; run this as root, or as the user who owns it' : '';
};

const valuesOf = (file: string, document: Document): unknown => {
  try {
    return document.toJS();
  } catch (error) {
    throw new ConfigError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
};

/** Treats a section with nothing but comments as empty. */
const withSections = (schema: z.ZodType, values: unknown): unknown => {
  const inner = unwrapped(schema);
  if (!(inner instanceof z.ZodObject)) return values;
  if (values === null) return {};
  if (!isMapping(values)) return values;
  const sections = Object.entries(inner.shape).filter(([name]) => Object.hasOwn(values, name));
  return {
    ...values,
    ...Object.fromEntries(sections.map(([name, member]) => [name, withSections(member as z.ZodType, values[name])])),
  };
};

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const password = async (file: string | undefined, key: string): Promise<string | undefined> => {
  const text = await secret(file, key);
  if (text === '') throw new ConfigError(`${key}: ${file} is empty; write the password into it, or leave ${key} out`, key);
  return text;
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
  const override = overrides.find(({path: overridden}) => `${path}.`.startsWith(`${overridden.join('.')}.`));
  if (override) return new ConfigError(`${override.variable}: ${path} ${detail}`);

  const [issue] = error.issues;
  const keys = [...(issue?.path ?? []), ...(issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])].map(String);
  const line = lineOf(document, lines, keys);
  const text = detail
    .replace('is not a known field; remove it', 'is not a known key; correct or remove it')
    .replace('must be a JSON object', 'must be a mapping of keys to values');
  return new ConfigError(`${file}${line === undefined ? '' : `:${line}`}: ${path || 'the file'} ${text}`);
};

/** The line of the key, or of the nearest enclosing key in the file. */
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

/** Converts text to the type of the key, as the file would have it. */
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
  // The schema reports a value that is not a mapping.
  if (values !== undefined && values !== null && !isMapping(values)) return values;
  return {...values, [name]: withValue(values?.[name], rest, value)};
};
