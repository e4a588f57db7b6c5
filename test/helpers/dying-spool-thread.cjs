// Loaded before a daemon: the thread that writes the spool ends where it would sync a file, while the named file exists.
const fs = require('node:fs');
const {syncBuiltinESMExports} = require('node:module');
const {isMainThread} = require('node:worker_threads');

const mayDie = process.env.TEST_SPOOL_THREAD_DIES;

if (!isMainThread && mayDie !== undefined) {
  const {fsync} = fs;
  fs.fsync = (...needs) => (fs.existsSync(mayDie) ? process.exit(1) : fsync(...needs));
  syncBuiltinESMExports();
}
