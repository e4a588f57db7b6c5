// Runs mfctl.cjs from what V8 has compiled of it before: to read and compile it anew takes longer than most commands do.
const {readFileSync} = require('node:fs');
const {createRequire, Module} = require('node:module');
const {dirname, join} = require('node:path');
const {Script} = require('node:vm');

/**
 * The last line of the source, of which V8 itself knows no more than the length: the two files may be of different builds, when one is
 * made just now.
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

  // V8 refuses what another version of it has compiled, and compiles the source then.
  const script = new Script(Module.wrap(source), {filename: file, cachedData: cached()});
  const bundle = {exports: {}};
  script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, folder);

  return {
    main: bundle.exports.main,
    /** Of all that has been compiled by now. */
    compiledSoFar: () => Buffer.concat([Buffer.from(id, 'latin1'), script.createCachedData()]),
  };
};
