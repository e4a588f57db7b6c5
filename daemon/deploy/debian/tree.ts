// Contents of the Debian package: files of this repository, files that are made of it, and links.
import {execFile} from 'node:child_process';
import {readdir, readFile} from 'node:fs/promises';
import {join, relative} from 'node:path';
import {promisify} from 'node:util';
import {gzipSync} from 'node:zlib';
import {copyrightText} from './copyright.ts';
import {isNeeded, productionModules} from './production-modules.ts';

export interface Entry {
  /** Without a slash in front. */
  path: string;
  mode: number;
  content: {file: string} | {data: string | Buffer} | {link: string};
}

interface Needs {
  /** Of the repository, built. */
  root: string;
  version: string;
}

export const packageTree = async ({root, version}: Needs): Promise<Entry[]> => [
  ...(await programs(root, version)),
  ...(await modules(root)),
  ...(await manuals(root)),
  ...(await completions(root)),
  ...(await systemd(root)),
  ...share(root),
  ...(await documentation(root)),
];

const home = 'usr/lib/mfd';
const docHome = 'usr/share/doc/mfd';

const file = (path: string, from: string, mode = 0o644): Entry => ({path, mode, content: {file: from}});
const made = (path: string, data: string | Buffer, mode = 0o644): Entry => ({path, mode, content: {data}});
const link = (path: string, to: string): Entry => ({path, mode: 0o777, content: {link: to}});
const packed = async (path: string, from: string): Promise<Entry> => made(path, gzipSync(await readFile(from), {level: 9}));

/** They run on the Node that the package depends on, whatever else is on the PATH. */
const programs = async (root: string, version: string): Promise<Entry[]> => {
  const launcher = async (name: string) => {
    const text = await readFile(join(root, 'bin', name), 'utf8');
    return made(
      `${home}/bin/${name}`,
      text.replace(/^#!.*node$/m, '#!/usr/bin/node').replaceAll('exec node ', 'exec /usr/bin/node '),
      0o755,
    );
  };
  // Beside these there may be files of the build before.
  const files = JSON.parse(await readFile(join(root, 'dist/files.json'), 'utf8')) as string[];
  const built = files.filter(name => !name.endsWith('.map'));
  const manifest = {name: 'mfd', version, private: true, type: 'module'};
  return [
    await launcher('mfd'),
    await launcher('mfctl'),
    file(`${home}/bin/bundle.js`, join(root, 'bin/bundle.js')),
    file(`${home}/bin/package.json`, join(root, 'bin/package.json')),
    ...built.map(name => file(`${home}/dist/${name}`, join(root, 'dist', name))),
    made(`${home}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`),
    file(`${home}/postfix-helper`, join(root, 'daemon/deploy/postfix-helper'), 0o755),
    link('usr/bin/mfd', '../lib/mfd/bin/mfd'),
    link('usr/bin/mfctl', '../lib/mfd/bin/mfctl'),
  ];
};

const modules = async (root: string): Promise<Entry[]> => {
  const entries: Entry[] = [];
  for (const module of await productionModules(root)) {
    const folder = join(root, module.folder);
    for (const found of await readdir(folder, {recursive: true, withFileTypes: true})) {
      const path = relative(folder, join(found.parentPath, found.name));
      if (found.isFile() && isNeeded(module, path)) entries.push(file(`${home}/${module.folder}/${path}`, join(folder, path)));
    }
  }
  return entries;
};

const manuals = async (root: string): Promise<Entry[]> => {
  const pages = (await readdir(join(root, 'man'))).filter(name => /\.[158]$/.test(name));
  return Promise.all(pages.map(async name => packed(`usr/share/man/man${name.at(-1)}/${name}.gz`, join(root, 'man', name))));
};

const completions = async (root: string): Promise<Entry[]> => {
  const places = {
    bash: 'bash-completion/completions/mfctl',
    zsh: 'zsh/vendor-completions/_mfctl',
    fish: 'fish/vendor_completions.d/mfctl.fish',
  };
  return Promise.all(
    Object.entries(places).map(async ([shell, place]) => {
      const {stdout} = await promisify(execFile)(process.execPath, [join(root, 'bin/mfctl'), 'completion', shell]);
      return made(`usr/share/${place}`, stdout);
    }),
  );
};

const systemd = async (root: string): Promise<Entry[]> => {
  const folder = join(root, 'daemon/deploy/systemd');
  return (await readdir(folder)).map(name => file(`usr/lib/systemd/system/${name}`, join(folder, name)));
};

const share = (root: string): Entry[] =>
  ['prometheus/mfd.rules.yml', 'grafana/mfd.json', 'sudoers'].map(name =>
    file(`usr/share/mfd/${name}`, join(root, 'daemon/deploy', name)),
  );

const documentation = async (root: string): Promise<Entry[]> => [
  made(`${docHome}/copyright`, await copyrightText(root, await productionModules(root))),
  await packed(`${docHome}/changelog.gz`, join(root, 'CHANGELOG.md')),
  file(`${docHome}/README.md`, join(root, 'README.md')),
  ...(await pages(root)),
];

/** As they are: links lead from page to page, which nothing follows into a compressed file. */
const pages = async (root: string): Promise<Entry[]> => {
  const folder = join(root, 'docs');
  const found = (await readdir(folder, {recursive: true, withFileTypes: true})).filter(
    entry => entry.isFile() && !entry.name.endsWith('.ts'),
  );
  return found.map(({parentPath, name}) => {
    const path = relative(root, join(parentPath, name));
    return file(`${docHome}/${path}`, join(root, path));
  });
};
