// A debugger of a running node would be a way in for every process of its user.
import {join} from 'node:path';
import test from 'ava';
import {startFirst} from '../helpers/daemon.ts';
import {freeListens} from '../helpers/node.ts';
import {testFolder} from '../helpers/store.ts';

test('a node that gets SIGUSR1 opens no debugger', async t => {
  const node = startFirst(t, join(await testFolder(t), 'data'), {}, await freeListens());
  await node.ready;

  node.signal('SIGUSR1');
  node.signal('SIGHUP');
  await node.logged(/configuration/i);
  node.signal('SIGTERM');
  t.is(await node.ended, 0);

  t.notRegex(node.stderr(), /Debugger/);
});
