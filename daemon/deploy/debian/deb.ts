// `npm run package:deb [FOLDER]`: makes a Debian package of what is built and installed here, in build/ or in FOLDER. Fetches nothing.

import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {chmod, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import packageJson from '../../../package.json' with {type: 'json'};
import {hasOwn} from '../../../shared/has-own.ts';
import {type Entry, packageTree} from './tree.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** With this variable, the same sources make the same package, byte for byte. */
const madeAt = process.env.SOURCE_DATE_EPOCH === undefined ? new Date() : new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000);

const makePackage = async (folder: string): Promise<string> => {
  const architecture = execFileSync('dpkg', ['--print-architecture'], {encoding: 'utf8'}).trim();
  // 1.0.0-rc.1 comes before 1.0.0, which Debian writes with a tilde.
  const version = packageJson.version.replace('-', '~');
  const entries = await packageTree({root, version: packageJson.version});
  const stage = await mkdtemp(join(tmpdir(), 'mfd-package-'));
  // It becomes the root of the package, and mkdtemp makes private folders.
  await chmod(stage, 0o755);
  try {
    const digests: string[] = [];
    let bytes = 0;
    for (const entry of entries) {
      const data = await place(stage, entry);
      if (data === undefined) continue;
      bytes += data.length;
      digests.push(`${createHash('md5').update(data).digest('hex')}  ${entry.path}\n`);
    }
    const control = fillIn(await readFile(join(root, 'daemon/deploy/debian/control'), 'utf8'), {
      VERSION: version,
      ARCHITECTURE: architecture,
      INSTALLED_SIZE: String(Math.ceil(bytes / 1024)),
      LIBRARIES: await libraries(entries),
    });
    await place(stage, {path: 'DEBIAN/control', mode: 0o644, content: {data: control}});
    await place(stage, {path: 'DEBIAN/md5sums', mode: 0o644, content: {data: digests.sort().join('')}});
    for (const [name, mode] of [
      ['postinst', 0o755],
      ['prerm', 0o755],
      ['postrm', 0o755],
      ['triggers', 0o644],
    ] as const)
      await place(stage, {path: `DEBIAN/${name}`, mode, content: {file: join(root, 'daemon/deploy/debian', name)}});

    await mkdir(folder, {recursive: true});
    const target = join(folder, `mfd_${version}_${architecture}.deb`);
    // The lowest level of xz: a fifth of the time for a quarter more bytes.
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '-z1', '--build', stage, target], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return target;
  } finally {
    await rm(stage, {recursive: true});
  }
};

/** Returns the bytes of a file, nothing of a link. */
const place = async (stage: string, {path, mode, content}: Entry): Promise<Buffer | undefined> => {
  const target = join(stage, path);
  await mkdir(dirname(target), {recursive: true, mode: 0o755});
  if (hasOwn(content, 'link')) {
    await symlink(content.link, target);
    return undefined;
  }
  const data = hasOwn(content, 'file') ? await readFile(content.file) : Buffer.from(content.data);
  await writeFile(target, data, {mode});
  await utimes(target, madeAt, madeAt);
  return data;
};

const fillIn = (template: string, values: Record<string, string>): string =>
  template.replace(/@([A-Z_]+)@/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`daemon/deploy/debian/control: nothing is known of ${name}`);
    return value;
  });

/** Requirements of SQLite's driver, the only compiled part: the newest symbols of the C library that it names. */
const libraries = async (entries: Entry[]): Promise<string> => {
  const compiled = entries.flatMap(({content}) =>
    hasOwn(content, 'file') && content.file.endsWith('.node') ? [content.file] : [],
  );
  const texts = await Promise.all(compiled.map(async file => readFile(file, 'latin1')));
  const minor = Math.max(...texts.flatMap(text => [...text.matchAll(/GLIBC_2\.(\d+)/g)].map(([, number]) => Number(number))));
  if (!Number.isFinite(minor)) throw new Error('SQLite’s driver is not compiled for this system: npm rebuild sqlite3');
  return `libc6 (>= 2.${minor}), libgcc-s1, libstdc++6`;
};

// Everybody may read files and folders, whatever the caller's umask.
process.umask(0o022);
process.stdout.write(`${await makePackage(resolve(process.argv[2] ?? join(root, 'build')))}\n`);
