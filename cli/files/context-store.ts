// Store of contexts: config.yaml, which may be shared, and keys.yaml beside it, which holds their keys and may not.
import {rm} from 'node:fs/promises';
import {homedir} from 'node:os';
import {isAbsolute, join} from 'node:path';
import type {Document} from 'yaml';
import {makeFolder} from '../../shared/make-folder.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {CliError} from '../errors.ts';
import {withLock} from './file-lock.ts';
import {fileFailure, isMapping, writeAtomically} from './text-file.ts';
import {loadOwnYaml} from './yaml-file.ts';

export interface Context {
  name: string;
  url: string;
  /** Addresses of other nodes of the cluster, asked when `url` does not answer. */
  others?: readonly string[];
  /** Absolute path of the certificate to trust. */
  cacert?: string | undefined;
  metricsUrl?: string | undefined;
  /** Of `cacert`, when a person has checked and trusted it: `sha256:` and hexadecimal digits. */
  fingerprint?: string;
}

interface Contexts {
  current: string | undefined;
  contexts: Context[];
}

interface PutOptions {
  key: string | undefined;
  makeCurrent: boolean;
  /** PEM. It is stored beside the contexts and becomes the `cacert` of this one. */
  ca?: string | undefined;
  /** Stores the context as NAME-2, NAME-3 and so on where there is one of its name. */
  isNew?: boolean;
}

export interface ContextStore {
  read(): Promise<Contexts>;
  keyOf(name: string): Promise<string | undefined>;
  /**
   * Replaces the context of that name, unless it is to be a new one; without a `key` the old key stays, unless the address changes.
   * Resolves with the name.
   */
  put(context: Context, options: PutOptions): Promise<string>;
  /** Replaces the other addresses of this context, unless its address or its CA file has changed since it was read. */
  putOthers(context: Context, others: readonly string[]): Promise<void>;
  /** Replaces the key, in one change, in those of the named contexts whose key is still old; resolves with their names. */
  replaceKey(names: readonly string[], {isOld, key}: {isOld(key: string): boolean; key: string}): Promise<string[]>;
  use(name: string): Promise<void>;
  /** Removes its key too, and a certificate that is stored here. False when there was no such context. */
  remove(name: string): Promise<boolean>;
}

/** Whether a name can be typed, listed, completed, and used in a file name. */
export const isContextName = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(text);

export const createContextStore = ({env}: Pick<Terminal, 'env'>): ContextStore => {
  const folder = join(configHome(env), 'mfctl');
  const configFile = join(folder, 'config.yaml');
  const keysFile = join(folder, 'keys.yaml');

  const caFile = (name: string) => join(folder, `${name}.ca.pem`);
  /** A context that was written into the file by hand may have any name. */
  const removeCa = async (name: string) => {
    if (isContextName(name)) await rm(caFile(name), {force: true});
  };

  const change = createChange({folder, configFile, keysFile});

  return {
    read: async () => contextsOf(await read(configFile), configFile),

    keyOf: async name => {
      const {[name]: key} = await read(keysFile);
      return typeof key === 'string' ? key : undefined;
    },

    put: async (context, {key, makeCurrent, ca, isNew = false}) => {
      let {name} = context;
      await change(async (config, keys) => {
        if (isNew) name = freeName(name, taken => config.hasIn(['contexts', taken]));
        if (ca !== undefined) await writeAtomically(caFile(name), ca);
        if (key !== undefined) keys.set(name, key);
        else if (config.getIn(['contexts', name, 'url']) !== context.url) keys.delete(name);
        const cacert = ca === undefined ? context.cacert : caFile(name);
        config.setIn(['contexts', name], config.createNode(membersOf({...context, cacert})));
        if (makeCurrent || config.get('current') === undefined) config.set('current', name);
      });
      if (ca === undefined && context.cacert !== caFile(name)) await removeCa(name);
      return name;
    },

    putOthers: async ({name, url, cacert}, others) =>
      change(config => {
        const known = contextsOf(config.toJS(), configFile).contexts.find(context => context.name === name);
        if (known?.url === url && known.cacert === cacert) config.setIn(['contexts', name, 'urls'], [url, ...others]);
      }),

    replaceKey: async (names, {isOld, key}) => {
      let replaced: string[] = [];
      await change((_config, keys) => {
        replaced = names.filter(name => {
          const kept: unknown = keys.get(name);
          return typeof kept === 'string' && isOld(kept);
        });
        for (const name of replaced) keys.set(name, key);
      });
      return replaced;
    },

    use: name => change(config => config.set('current', name)),

    remove: async name => {
      let hadOne = false;
      await change((config, keys) => {
        keys.delete(name);
        hadOne = config.hasIn(['contexts', name]) && config.deleteIn(['contexts', name]);
        if (config.get('current') === name) config.delete('current');
      });
      await removeCa(name);
      return hadOne;
    },
  };
};

/** NAME, or else NAME-2, NAME-3 and so on, with as much of the name as leaves room for the number. */
const freeName = (name: string, isTaken: (name: string) => boolean): string => {
  let [free, number] = [name, 1];
  while (isTaken(free)) {
    number += 1;
    free = `${name.slice(0, 63 - `-${number}`.length)}-${number}`;
  }
  return free;
};

type Edit = (config: Document, keys: Document) => void | Promise<void>;

/** Changes both files under a lock that other processes respect. */
const createChange =
  ({folder, configFile, keysFile}: {folder: string; configFile: string; keysFile: string}) =>
  async (edit: Edit): Promise<void> => {
    try {
      await makeFolder(folder);
      await withLock(join(folder, 'lock'), async () => {
        const [config, keys] = await Promise.all([load(configFile), load(keysFile)]);
        contextsOf(config.toJS(), configFile);
        await edit(config, keys);
        // The key first: a context without its key would go unnoticed until it is used.
        await writeAtomically(keysFile, String(keys));
        await writeAtomically(configFile, String(config));
      });
    } catch (error) {
      throw error instanceof CliError ? error : fileFailure(folder, error, 'write to');
    }
  };

/** A relative XDG_CONFIG_HOME is ignored (XDG Base Directory Specification). */
export const configHome = (env: Terminal['env']): string => {
  const {XDG_CONFIG_HOME: configured} = env;
  return configured && isAbsolute(configured) ? configured : join(env.HOME || homedir(), '.config');
};

const load = (file: string): Promise<Document> => loadOwnYaml(file, detail => broken(file, detail));
const read = async (file: string): Promise<Record<string, unknown>> => (await load(file)).toJS();

const contextsOf = ({current, contexts = {}}: Record<string, unknown>, file: string): Contexts => {
  if (current !== undefined && typeof current !== 'string') throw broken(file, 'current must be the name of a context');
  if (!isMapping(contexts)) throw broken(file, 'contexts must be a mapping from names to contexts');
  return {current, contexts: Object.entries(contexts).map(([name, value]) => contextOf(name, value, file))};
};

const contextOf = (name: string, value: unknown, file: string): Context => {
  if (!isMapping(value)) throw broken(file, `contexts.${name} must be a mapping with url`);
  const {url, urls = [], cacert, fingerprint, metrics_url: metricsUrl} = value;
  if (typeof url !== 'string') throw broken(file, `contexts.${name}.url must be the address of a node`);
  if (!isTexts(urls)) throw broken(file, `contexts.${name}.urls must be a list of addresses that begins with url`);
  const [first, ...others] = urls;
  return {
    name,
    url,
    // After a change of `url` by hand, the other addresses belong to the old cluster.
    ...(first === url && others.length > 0 && {others}),
    ...(typeof cacert === 'string' && {cacert}),
    ...(typeof fingerprint === 'string' && {fingerprint}),
    ...(typeof metricsUrl === 'string' && {metricsUrl}),
  };
};

/** As `contextOf` reads it. */
const membersOf = ({url, others = [], cacert, fingerprint, metricsUrl}: Context): Record<string, unknown> => ({
  // mfctl 0.4 reads this one only.
  url,
  ...(others.length > 0 && {urls: [url, ...others]}),
  ...(cacert && {cacert}),
  ...(fingerprint && {fingerprint}),
  ...(metricsUrl && {metrics_url: metricsUrl}),
});

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(text => typeof text === 'string');

const broken = (file: string, detail: string): CliError =>
  new CliError('invalid_config', `${file}: ${detail}`, {hint: 'fix the file, or move it away and run mfctl context add'});
