// Installed packages that the daemon runs on, and the files of them that it needs. Fetches nothing: it copies what is installed here.
import {existsSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {dirname, join, relative} from 'node:path';

export interface ProductionModule {
  name: string;
  version: string;
  license: string;
  /** Relative to the root of the repository: `node_modules/…`. */
  folder: string;
}

/** The only installed package that bin/build.mjs leaves out of the daemon, with all that it depends on. */
export const productionModules = async (root: string): Promise<ProductionModule[]> => {
  const found = new Map<string, ProductionModule>();
  const visit = async (name: string, from: string): Promise<void> => {
    const folder = installedFolder(name, from);
    if (folder === undefined) throw new Error(`${name} is not installed, but ${relative(root, from) || 'mfd'} needs it: npm ci`);
    if (found.has(folder)) return;
    const {version, license, dependencies = {}} = await readManifest(folder);
    found.set(folder, {name, version, license, folder: relative(root, folder)});
    for (const next of Object.keys(dependencies)) if (!isForInstalling(name, next)) await visit(next, folder);
  };

  await visit('sqlite3', root);
  return [...found.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1));
};

/** Whether a file of a module, by its path in it, is of any use to a running program. */
export const isNeeded = (module: ProductionModule, path: string): boolean => {
  if (path.split('/').includes('node_modules')) return false;
  if (module.name === 'sqlite3') return /^(lib\/.*\.js|build\/Release\/node_sqlite3\.node|package\.json|LICENSE)$/.test(path);
  if (/^licen[cs]e|^notice/i.test(path)) return true;
  return !(
    /\.([cm]?ts|map|md|markdown|html|flow)$|(^|\/)\./.test(path) ||
    /^(tests?|__tests__|examples?|bench(marks?)?|docs)\//.test(path)
  );
};

/** The driver compiles or fetches itself when it is installed, with packages that it does not run on. */
const isForInstalling = (name: string, dependency: string): boolean =>
  name === 'sqlite3' && ['node-addon-api', 'prebuild-install', 'tar'].includes(dependency);

const installedFolder = (name: string, from: string): string | undefined => {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (folder === dirname(folder)) return undefined;
  }
};

interface Manifest {
  version: string;
  license: string;
  dependencies?: Record<string, string>;
}

const readManifest = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
