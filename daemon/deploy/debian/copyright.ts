// Copyright file of the package: its own licence, and the licences of the packages that it contains.
import {existsSync} from 'node:fs';
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {ProductionModule} from './production-modules.ts';

export const copyrightText = async (root: string, modules: ProductionModule[]): Promise<string> => {
  const bundled = await bundledFolders(root);
  const notices = await Promise.all(bundled.map(async folder => notice(root, folder)));
  return [
    await readFile(join(root, 'LICENSE'), 'utf8'),
    'Below /usr/lib/mfd/node_modules, each with its licence in its folder:\n',
    ...modules.map(({folder, version, license}) => `  ${folder.replace(/^node_modules\//, '')} ${version}: ${license}`),
    '\nPart of the programs:\n',
    ...notices,
  ].join('\n');
};

/** The source maps beside the programs list what the bundler has put into them. */
const bundledFolders = async (root: string): Promise<string[]> => {
  const maps = (await readdir(join(root, 'dist'))).filter(name => /^(mfctl|mfd).*\.map$/.test(name));
  const sources = await Promise.all(
    maps.map(async name => (JSON.parse(await readFile(join(root, 'dist', name), 'utf8')) as {sources: string[]}).sources),
  );
  const folders = sources.flat().map(source => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? '');
  return [...new Set(folders)].filter(folder => existsSync(join(root, folder, 'package.json'))).sort();
};

const notice = async (root: string, folder: string): Promise<string> => {
  const manifest = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as Record<string, unknown>;
  const file = (await readdir(join(root, folder))).find(name => /^licen[cs]e/i.test(name));
  const text = file === undefined ? '' : `\n${await readFile(join(root, folder, file), 'utf8')}`;
  return `----\n${manifest.name} ${manifest.version}: ${manifest.license}\n${text}`;
};
