import {createHash, randomBytes} from 'node:crypto';
import {readdir, readFile, stat, truncate, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {buffer} from 'node:stream/consumers';
import test from 'ava';
import {createSpool} from '../../../../daemon/hold/spool/spool.ts';
import type {HeldMailFacts, MailContent} from '../../../../daemon/services/intake/mail.ts';
import {Fault} from '../../../../shared/fault.ts';
import {trace} from '../../../helpers/hold-queue.ts';
import {contentOf} from '../../../helpers/received-mail.ts';
import {mayMount, smallDisk} from '../../../helpers/small-disk.ts';
import {spoolNames} from '../../../helpers/spool-names.ts';
import {testFolder} from '../../../helpers/store.ts';

const facts: HeldMailFacts = {
  queue_id: 'Q1w2E3r4T5',
  arrived_at: '2026-03-01T12:00:00.000Z',
  direction: 'inbound',
  domain: 'example.com',
  domain_id: 1,
  sender: 'ada@example.net',
  from: ['ada@example.net'],
  recipients: ['ben@example.com', 'Zoë@example.com'],
  is_utf8: true,
  is_eight_bit: false,
  subject: 'one\ttwo “three” \u{1F4E7}',
  score: 8.25,
  symbols: [{name: 'A_SYMBOL', score: 8.25}],
  reason: 'rbl',
  client_ip: '192.0.2.5',
  helo: 'mx.example.net',
  authentication: null,
};

const everything = async (root: string) => (await readdir(root, {recursive: true})).sort();
const folders = ['damaged', 'held', 'tmp'];

for (const [what, bytes] of Object.entries({
  'an empty mail': Buffer.alloc(0),
  'every byte value': Buffer.from(Array.from({length: 256}, (_, n) => n)),
  'line ends of all kinds and no last one': Buffer.from('a\r\nb\rc\n\r\n.\r\n..\r\nsha256:\nmfd-spool 1 2\n{}\nend'),
  'three megabytes': randomBytes(3 * 1024 * 1024 + 17),
}))
  test(`bytes come back as they were: ${what}`, async t => {
    const spool = await createSpool(await testFolder(t));

    const placed = await spool.place(facts, trace, contentOf(bytes, 1000));
    const {facts: read, content, sha256} = await spool.open(facts.queue_id);

    const whole = Buffer.concat([trace, bytes]);
    t.true((await buffer(content.open())).equals(whole));
    t.deepEqual(read, facts);
    t.is(content.sizeBytes, whole.length);
    t.deepEqual(placed, {sizeBytes: whole.length, sha256: createHash('sha256').update(whole).digest('hex')});
    t.is(sha256, placed.sha256);
  });

test('content may be read twice, and at the same time', async t => {
  const spool = await createSpool(await testFolder(t));
  await spool.place(facts, trace, contentOf(Buffer.from('hello\r\n')));
  const {content} = await spool.open(facts.queue_id);

  const reads = await Promise.all([buffer(content.open()), buffer(content.open())]);

  t.deepEqual(reads.map(String), [`${trace}hello\r\n`, `${trace}hello\r\n`]);
});

test('files and folders are for their owner only', async t => {
  const root = join(await testFolder(t), 'spool');
  const spool = await createSpool(root);

  await spool.place(facts, trace, contentOf(Buffer.from('hello\r\n')));

  for (const folder of folders) t.is((await stat(join(root, folder))).mode & 0o777, 0o700, folder);
  t.is((await stat(join(root, 'held', facts.queue_id))).mode & 0o777, 0o600);
});

test('nothing is left in tmp once a mail is placed, and what was left there is swept when the spool opens', async t => {
  const root = await testFolder(t);
  const spool = await createSpool(root);
  await spool.place(facts, trace, contentOf(Buffer.from('hello\r\n')));
  t.deepEqual(await readdir(spool.tmpDir), []);

  await writeFile(join(spool.tmpDir, 'leftover'), 'half a mail');
  await createSpool(root);

  t.deepEqual(await everything(root), ['damaged', 'held', join('held', facts.queue_id), 'tmp']);
});

test('a mail that breaks off while it is written leaves nothing behind', async t => {
  const root = await testFolder(t);
  const spool = await createSpool(root);
  const broken: MailContent = {
    sizeBytes: 100,
    open: () =>
      Readable.from(
        (async function* () {
          yield Buffer.from('half');
          throw new Error('the connection is gone');
        })(),
      ),
    discard: async () => {},
  };

  await t.throwsAsync(spool.place(facts, trace, broken), {message: 'the connection is gone'});

  t.deepEqual(await everything(root), folders);
});

test('as many recipients and symbols as the limits let through come back, and what could not is refused', async t => {
  const root = await testFolder(t);
  const spool = await createSpool(root);
  const symbols = Array.from({length: 500}, (_, n) => ({name: `S${n}`.padEnd(100, 'x'), score: -1 / 3}));
  const recipients = Array.from({length: 10_000}, (_, n) => `${n}@example.com`.padStart(320, 'é'));
  const most = {...facts, symbols, recipients};
  const tooMuch = {...facts, queue_id: 'TooMuch001', recipients: [...recipients, ...recipients]};

  await spool.place(most, trace, contentOf(Buffer.from('x')));
  await t.throwsAsync(spool.place(tooMuch, trace, contentOf(Buffer.from('x'))), {message: /bytes of facts/});

  t.deepEqual((await spool.open(facts.queue_id)).facts, most);
  t.deepEqual(await everything(root), ['damaged', 'held', join('held', facts.queue_id), 'tmp']);
});

(mayMount ? test : test.skip)('a disk that is full leaves nothing behind (needs the right to mount a tmpfs)', async t => {
  const disk = await smallDisk(t, 2 * 1024 * 1024);
  const spool = await createSpool(disk.path);

  const error = await t.throwsAsync(spool.place(facts, trace, contentOf(randomBytes(4 * 1024 * 1024))));

  t.is((error as NodeJS.ErrnoException).code, 'ENOSPC');
  t.deepEqual(await everything(disk.path), folders);
  await t.notThrowsAsync(spool.place(facts, trace, contentOf(Buffer.from('hello\r\n'))));
});

test('one changed byte of the mail is noticed', async t => {
  const root = await testFolder(t);
  const spool = await createSpool(root);
  await spool.place(facts, trace, contentOf(Buffer.from('hello\r\n')));
  const mail = await spool.open(facts.queue_id);
  t.true(await spool.isIntact(mail));

  const path = join(root, 'held', facts.queue_id);
  await writeFile(path, (await readFile(path, 'latin1')).replace('hello', 'jello'), 'latin1');

  t.false(await spool.isIntact(await spool.open(facts.queue_id)));
});

test('one changed byte of what the mail is, such as a recipient, is noticed', async t => {
  const root = await testFolder(t);
  const spool = await createSpool(root);
  await spool.place(facts, trace, contentOf(Buffer.from('hello\r\n')));

  const path = join(root, 'held', facts.queue_id);
  await writeFile(path, (await readFile(path, 'latin1')).replace('ben@', 'bem@'), 'latin1');

  await t.throwsAsync(spool.open(facts.queue_id), {message: /damaged/});
});

test('a file that stops short, anywhere, is no mail', async t => {
  const root = await testFolder(t);
  const spool = await createSpool(root);
  await spool.place(facts, trace, contentOf(Buffer.from('hello\r\n')));
  const path = join(root, 'held', facts.queue_id);
  const {size} = await stat(path);

  for (const length of [size - 1, size - 40, size - 73, 200, 90, 20, 0]) {
    await truncate(path, length);
    await t.throwsAsync(spool.open(facts.queue_id), undefined, `${length} bytes`);
  }
});

test('what is set aside is out of the queue and not deleted', async t => {
  const root = await testFolder(t);
  const spool = await createSpool(root);
  await spool.place(facts, trace, contentOf(Buffer.from('hello\r\n')));

  await spool.setAside(facts.queue_id);

  t.deepEqual(await spoolNames(spool), []);
  t.deepEqual(await readdir(join(root, 'damaged')), [facts.queue_id]);
});

test('a queue id is never part of a path', async t => {
  const root = await testFolder(t);
  const spool = await createSpool(join(root, 'spool'));
  await writeFile(join(root, 'secret'), 'x');

  for (const id of ['../../secret', '..', '', 'abc', 'a/b/c/d/e', 'abcdef\0', `${'a'.repeat(65)}`]) {
    const error = await t.throwsAsync(spool.open(id), {instanceOf: Fault}, id);
    t.is((error as Fault).code, 'not_found');
    await t.throwsAsync(spool.remove(id), {instanceOf: Fault}, id);
  }
});

test('removing what is gone already is fine, and opening it says not_found', async t => {
  const spool = await createSpool(await testFolder(t));

  await t.notThrowsAsync(spool.remove('Q1w2E3r4T5'));
  const error = await t.throwsAsync(spool.open('Q1w2E3r4T5'), {instanceOf: Fault});

  t.is((error as Fault).code, 'not_found');
});

test('many mails placed at once are all there', async t => {
  const spool = await createSpool(await testFolder(t));
  const ids = Array.from({length: 50}, (_, n) => `Q${String(n).padStart(6, '0')}`);

  await Promise.all(ids.map(async queue_id => spool.place({...facts, queue_id}, trace, contentOf(Buffer.from(queue_id)))));

  t.deepEqual(await spoolNames(spool), ids);
  for (const id of ids) t.is(String(await buffer((await spool.open(id)).content.open())), `${trace}${id}`);
});
