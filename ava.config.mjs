// What AVA needs to know of tests that test/run.mjs has bundled.
import {createHash} from 'node:crypto';
import {relative} from 'node:path';

/**
 * An order that is the same in each run and mixes the rooms: tests that wait for clocks, which stand side by side by name, leave the
 * processor to others.
 */
const rank = path =>
  createHash('sha256')
    .update(relative('build', path).replace(/^[^/]*/, ''))
    .digest('hex');

// biome-ignore lint/style/noDefaultExport: AVA reads the default export.
export default {
  files: ['build/tests-*/**/*.test.mjs'],
  extensions: {mjs: true},
  timeout: '5m',
  workerThreads: false,
  sortTestFiles: (a, b) => (rank(a) < rank(b) ? -1 : 1),
};
