// Loader of mfctl.cjs and mfd.cjs with their V8 code caches. Compiling takes longer than most commands of mfctl, and needs 20 MiB that a
// daemon does not give back.
const {readFileSync, statSync} = require('node:fs');
const {createRequire, Module} = require('node:module');
const {dirname, join} = require('node:path');
const {Script} = require('node:vm');
const {crc32} = require('node:zlib');

/** Length of the last line of the source, a hash. */
const idLength = 32;

/**
 * The first line of a cache: what it belongs to, and a checksum. V8 looks at the length of the source and at its own version, which some
 * releases of Node share although they cannot read each other's caches, and runs what it is given: with another cache the process dies.
 */
const labelOf = (id, cache) => {
  const {size, mtimeMs} = statSync(process.execPath);
  return `${[id, process.version, process.arch, size, mtimeMs, crc32(cache)].join(' ')}\n`;
};

exports.loadBundle = (name, folder = join(dirname(__dirname), 'dist')) => {
  const file = join(folder, `${name}.cjs`);
  // All but the licences at its end is ASCII, as esbuild writes it.
  const source = readFileSync(file, 'latin1');
  const id = source.slice(-idLength);

  const cached = () => {
    try {
      const bytes = readFileSync(join(folder, `${name}.cache`));
      const end = bytes.indexOf('\n') + 1;
      const cache = bytes.subarray(end);
      return bytes.toString('latin1', 0, end) === labelOf(id, cache) ? cache : undefined;
    } catch {
      return undefined;
    }
  };

  // The name is of stack traces; the cache keeps the one that it was made with, in the folder of a build.
  const script = new Script(Module.wrap(source), {filename: `${name}.cjs`, cachedData: cached()});
  const bundle = {exports: {}};
  script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, folder);

  return {
    main: bundle.exports.main,
    /** The code cache of everything that has been compiled so far. */
    compiledSoFar() {
      const cache = script.createCachedData();
      return Buffer.concat([Buffer.from(labelOf(id, cache), 'latin1'), cache]);
    },
  };
};
