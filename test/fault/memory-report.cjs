// Loaded into the process under test by memory-probe.ts, in each of its threads: collects all garbage and says what is left, to whoever
// connects. It runs in a normal build, and mfd knows nothing of it.
const {createServer} = require('node:net');
const {join} = require('node:path');
const {setImmediate: turn} = require('node:timers/promises');
const {setFlagsFromString} = require('node:v8');
const {runInNewContext} = require('node:vm');
const {threadId} = require('node:worker_threads');

// A flag of NODE_OPTIONS this may not be: --expose-gc is refused there by Node 20.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

const server = createServer(async socket => {
  socket.on('error', () => undefined);
  // What one collection lets go of outside the heap is freed by callbacks; what they let go of, by another one.
  for (let times = 0; times < 3; times += 1) {
    collect();
    await turn();
  }
  const {heapUsed, external} = process.memoryUsage();
  socket.end(String(heapUsed + external));
});
server.listen(join(process.env.FAULT_MEMORY_FOLDER, `${process.pid}-${threadId}`)).unref();
