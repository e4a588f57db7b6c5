// Loader of mfctl.cjs with its V8 code cache: compiling it each time would take longer than most commands.
const {readFileSync} = require('node:fs');
const {createRequire, Module} = require('node:module');
const {dirname, join} = require('node:path');
const {Script} = require('node:vm');

/**
 * Length of the last line of the source, a hash. V8 compares only the length of the source, and the two files may belong to different
 * builds while one is being made.
 */
const idLength = 32;

exports.loadBundle = (folder = join(dirname(__dirname), 'dist')) => {
  const file = join(folder, 'mfctl.cjs');
  // It is ASCII, as esbuild writes it.
  const source = readFileSync(file, 'latin1');
  const id = source.slice(-idLength);

  const cached = () => {
    try {
      const bytes = readFileSync(join(folder, 'mfctl.cache'));
      return bytes.toString('latin1', 0, idLength) === id ? bytes.subarray(idLength) : undefined;
    } catch {
      return undefined;
    }
  };

  // V8 rejects a cache of another version and compiles the source.
  const script = new Script(Module.wrap(source), {filename: file, cachedData: cached()});
  const bundle = {exports: {}};
  script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, folder);

  return {
    main: bundle.exports.main,
    /** The code cache of everything that has been compiled so far. */
    compiledSoFar: () => Buffer.concat([Buffer.from(id, 'latin1'), script.createCachedData()]),
  };
};
