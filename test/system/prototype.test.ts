// A running node under an attack on the prototype of all objects.
import {join} from 'node:path';
import test from 'ava';
import {startFirst} from '../helpers/daemon.ts';
import {freeListens} from '../helpers/node.ts';
import {testFolder} from '../helpers/store.ts';

/** Loaded into the node before its launcher; attacks when the node gets the signal. */
const attacker = `
  import {writeSync} from 'node:fs';
  process.on('SIGUSR2', () => {
    const tree = {};
    const name = ['__proto__'][0];
    tree[name] ??= {};
    tree[name].polluted = 'yes';
    writeSync(2, 'polluted: ' + {}.polluted + '\\n');
  });
`;

test('in a running node a name cannot reach the prototype of all objects', async t => {
  const folder = await testFolder(t);
  const env = {NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(attacker)}`};
  const node = startFirst(t, join(folder, 'data'), env, await freeListens());
  await node.ready;

  node.signal('SIGUSR2');
  await node.logged(/^polluted: /m);

  t.regex(node.stderr(), /^polluted: undefined$/m);
  t.true(node.isRunning());
});
