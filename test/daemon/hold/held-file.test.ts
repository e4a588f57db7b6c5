import {readdir, readlink, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {finished} from 'node:stream/promises';
import test from 'ava';
import {openHeldFile} from '../../../daemon/hold/held-file.ts';
import {eventually} from '../../helpers/eventually.ts';
import {operator, type TestQueue, testQueue} from '../../helpers/hold-queue.ts';

const id = 'Q1w2E3r4T5';
/** More than is kept in memory. */
const large = {bytes: Buffer.from(`Subject: x\r\n\r\n${'a line of text\r\n'.repeat(50_000)}`)};

const openFiles = async (): Promise<string[]> => {
  const files = await readdir('/proc/self/fd');
  return Promise.all(files.map(async file => readlink(join('/proc/self/fd', file)).catch(() => '')));
};

const openContent = async ({store, spool}: TestQueue) => {
  const row = await store.hold.find(id);
  if (!row) throw new Error('nothing is held');
  return openHeldFile(spool, row, 'internal');
};

test('a mail that is opened and not read leaves no file open', async t => {
  const held = await testQueue(t);
  await held.hold(id, large);
  const file = join(held.spoolFolder, 'held', id);
  const isOpen = async () => (await openFiles()).includes(file);

  const {stream} = await held.queue.body(id, operator);
  await eventually(isOpen);
  stream.destroy();

  t.true(await eventually(async () => !(await isOpen())));
});

test('a mail that is opened can be read to its end though its file goes before that', async t => {
  const held = await testQueue(t);
  await held.hold(id, large);

  const {sizeBytes, stream} = await held.queue.body(id, operator);
  await rm(join(held.spoolFolder, 'held', id));
  const bytes = Buffer.concat(await stream.toArray());

  t.is(bytes.length, sizeBytes);
});

test('a file that goes before it is opened breaks its own mail off and nothing else, read or not', async t => {
  const held = await testQueue(t);
  await held.hold(id, large);
  const [read, unread] = [await openContent(held), await openContent(held)];
  await rm(join(held.spoolFolder, 'held', id));

  const reading = read.open().toArray();
  const broken = finished(unread.open());

  await t.throwsAsync(reading, {code: 'ENOENT'});
  await t.throwsAsync(broken, {code: 'ENOENT'});
});

test('a mail that ends while its file is looked at is unknown', async t => {
  const held = await testQueue(t);
  await held.hold(id, large);
  const {isIntact} = held.spool;
  held.spool.isIntact = async file => {
    await held.queue.act('discard', id, operator);
    return isIntact(file);
  };

  await t.throwsAsync(held.queue.body(id, operator), {message: /^not_found: there is no held mail alpha\//});
});

test('a file that goes while it is looked at, of a mail that is held, is missed by name', async t => {
  const held = await testQueue(t);
  await held.hold(id, large);
  const {isIntact} = held.spool;
  held.spool.isIntact = async file => {
    await rm(join(held.spoolFolder, 'held', id));
    return isIntact(file);
  };

  await t.throwsAsync(held.queue.body(id, operator), {
    message: 'not_found: the bytes of this mail are not on this node any more',
  });
});
