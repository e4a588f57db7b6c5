// Runs dist/mfctl.cjs from what V8 has compiled of it before: to read and compile it anew takes longer than most commands do.
import {readFileSync} from 'node:fs';
import {createRequire, Module} from 'node:module';
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Script} from 'node:vm';

const file = fileURLToPath(new URL('../dist/mfctl.cjs', import.meta.url));
const cacheFile = fileURLToPath(new URL('../dist/mfctl.cache', import.meta.url));

const cached = () => {
  try {
    return readFileSync(cacheFile);
  } catch {
    return undefined;
  }
};

/** V8 refuses what another version of it has compiled, and compiles the source then. */
const script = new Script(Module.wrap(readFileSync(file, 'utf8')), {
  filename: file,
  cachedData: cached(),
});

const bundle = {exports: {}};
script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, dirname(file));

export const {main} = bundle.exports;

/** Of all that has been compiled by now. */
export const compiledSoFar = () => script.createCachedData();
