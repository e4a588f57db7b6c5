// Loader of mfctl.cjs and mfd.cjs with their V8 code caches. Compiling takes longer than most commands of mfctl, and needs 20 MiB that a
// daemon does not give back.
const {readFileSync} = require('node:fs');
const {createRequire, Module} = require('node:module');
const {dirname, join} = require('node:path');
const {Script} = require('node:vm');

/**
 * Length of the last line of the source, a hash. V8 compares only the length of the source, and the two files may belong to different
 * builds while one is being made.
 */
const idLength = 32;

exports.loadBundle = (name, folder = join(dirname(__dirname), 'dist')) => {
  const file = join(folder, `${name}.cjs`);
  // All but the licences at its end is ASCII, as esbuild writes it.
  const source = readFileSync(file, 'latin1');
  const id = source.slice(-idLength);

  const cached = () => {
    try {
      const bytes = readFileSync(join(folder, `${name}.cache`));
      return bytes.toString('latin1', 0, idLength) === id ? bytes.subarray(idLength) : undefined;
    } catch {
      return undefined;
    }
  };

  // V8 rejects a cache of another version and compiles the source. The name is of stack traces; the cache keeps the one that it was made
  // with, in the folder of a build.
  const script = new Script(Module.wrap(source), {filename: `${name}.cjs`, cachedData: cached()});
  const bundle = {exports: {}};
  script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, folder);

  return {
    main: bundle.exports.main,
    /** The code cache of everything that has been compiled so far. */
    compiledSoFar: () => Buffer.concat([Buffer.from(id, 'latin1'), script.createCachedData()]),
  };
};
