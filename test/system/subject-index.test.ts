// A damaged index of subjects in a database that is too large for it to be read at a start.
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {eventually} from '../helpers/eventually.ts';
import {mfdFile, run, startNode} from '../helpers/node.ts';
import {openTestStore} from '../helpers/store.ts';
import {storedMail} from '../helpers/stored-mail.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';

const isTold = /searches for subjects miss held mail/;

testOwnStore('a node with a damaged index of subjects runs and says so, and mfd repair makes the index again', async t => {
  const node = await startNode(t);
  await node.stop();
  const store = await openTestStore(join(node.data, 'mfd.db'));
  const ids = Array.from({length: 600}, (_, n) => `Mail${String(n).padStart(6, '0')}`);
  const arrived_at = new Date().toISOString();
  const mails = ids.map((queue_id, n) => storedMail({queue_id, arrived_at, subject: `offer number ${n}`, score: 1}));
  await store.transaction(async tx => tx.hold.insert(mails));
  for (const queueId of ids) await writeFile(join(node.data, 'spool/held', queueId), '');
  await store.write('local_state').insert({name: 'fill', value: 'x'.repeat(20 * 1024 * 1024)});
  await store.write.raw('UPDATE held_trigram_data SET block = zeroblob(length(block)) WHERE id > 10');
  await store.close();
  const found = async () => (await node.api('GET', 'mail/quarantine?subject=number%20100')).json.data.length;

  await node.start();
  await eventually(async () => isTold.test(node.log()));
  await node.stop();
  const repaired = await run(mfdFile, ['repair', '--data', node.data]);
  await node.start();

  t.is(repaired.code, 0, repaired.stderr);
  t.regex(repaired.stdout, /the database was damaged/);
  t.is(await found(), 1);
  await node.stop();
  t.notRegex(node.log(), isTold);
});
