// Runs dist/mfctl.cjs from what V8 has compiled of it before: to read and compile it anew takes longer than most commands do.
const {readFileSync} = require('node:fs');
const {createRequire, Module} = require('node:module');
const {dirname, join} = require('node:path');
const {Script} = require('node:vm');

const folder = join(dirname(__dirname), 'dist');
const file = join(folder, 'mfctl.cjs');

const cached = () => {
  try {
    return readFileSync(join(folder, 'mfctl.cache'));
  } catch {
    return undefined;
  }
};

/** The bundle is ASCII, as esbuild writes it. V8 refuses what another version of it has compiled, and compiles the source then. */
const script = new Script(Module.wrap(readFileSync(file, 'latin1')), {filename: file, cachedData: cached()});

const bundle = {exports: {}};
script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, folder);

exports.main = bundle.exports.main;

/** Of all that has been compiled by now. */
exports.compiledSoFar = () => script.createCachedData();
