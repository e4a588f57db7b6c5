import {mkdtemp, readdir, rm, stat} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {buffer} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import {createMessageIntake, replyToStorageError} from '../../../daemon/mail/message-intake.ts';
import {chunksOf} from '../../helpers/received-mail.ts';

const open = async (t: ExecutionContext, limits: {maxSizeBytes?: number; maxMemoryBytes?: number} = {}) => {
  const tmpDir = await mkdtemp(join(tmpdir(), 'mfd-intake-'));
  t.teardown(() => rm(tmpDir, {recursive: true, force: true}));
  return {tmpDir, messages: createMessageIntake({tmpDir, maxSizeBytes: 100_000, ...limits})};
};

const mailOf = (bodyBytes: number) =>
  Buffer.from(`Subject: x\r\n\r\n${`${'y'.repeat(78)}\r\n`.repeat(Math.ceil(bodyBytes / 80))}`);

async function* counted(bytes: Buffer, seen: {bytes: number}, failure?: Error): AsyncGenerator<Buffer> {
  for (const chunk of chunksOf(bytes, 1000)) {
    seen.bytes += chunk.length;
    yield chunk;
  }
  if (failure) throw failure;
}

test('content reads the same from memory and from a file, any number of times, until it is discarded', async t => {
  const bytes = mailOf(20_000);

  for (const maxMemoryBytes of [0, 10_000, 50_000]) {
    const {messages, tmpDir} = await open(t, {maxMemoryBytes});
    const taken = await messages.take(counted(bytes, {bytes: 0}), 'Q1');
    if (taken.kind === 'refused') return t.fail(taken.reply.text);

    t.is(taken.content.sizeBytes, bytes.length);
    for (const _ of [1, 2]) t.deepEqual(await buffer(taken.content.open()), bytes);
    t.is((await readdir(tmpDir)).length, maxMemoryBytes < bytes.length ? 1 : 0);
    await taken.content.discard();
    await taken.content.discard();
    t.deepEqual(await readdir(tmpDir), []);
  }
});

test('a file on disk is for its owner only', async t => {
  const {messages, tmpDir} = await open(t, {maxMemoryBytes: 100});

  await messages.take(counted(mailOf(1000), {bytes: 0}), 'Q1');

  t.is((await stat(join(tmpDir, 'Q1.in'))).mode & 0o777, 0o600);
});

test('a mail too big is read to its end, kept nowhere and refused', async t => {
  const {messages, tmpDir} = await open(t, {maxSizeBytes: 5000, maxMemoryBytes: 1000});
  const seen = {bytes: 0};
  const bytes = mailOf(20_000);

  const taken = await messages.take(counted(bytes, seen), 'Q1');

  t.like(taken, {kind: 'refused', reply: {code: 552}});
  t.is(seen.bytes, bytes.length);
  t.deepEqual(await readdir(tmpDir), []);
});

test('a disk that fails defers the mail, which is still read to its end', async t => {
  const {messages, tmpDir} = await open(t, {maxMemoryBytes: 1000});
  await rm(tmpDir, {recursive: true});
  const seen = {bytes: 0};
  const bytes = mailOf(20_000);

  const taken = await messages.take(counted(bytes, seen), 'Q1');

  t.like(taken, {kind: 'refused', reply: {code: 451}, cause: {code: 'ENOENT'}});
  t.is(seen.bytes, bytes.length);
});

test('a stream that breaks off leaves no file', async t => {
  const {messages, tmpDir} = await open(t, {maxMemoryBytes: 1000});

  await t.throwsAsync(messages.take(counted(mailOf(20_000), {bytes: 0}, new Error('gone')), 'Q1'), {message: 'gone'});

  t.deepEqual(await readdir(tmpDir), []);
});

test('a full disk or database is 452, all else 451', t => {
  for (const code of ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'])
    t.is(replyToStorageError(Object.assign(new Error('full'), {code})).code, 452, code);
  t.is(replyToStorageError(new Error('wrapped', {cause: Object.assign(new Error('full'), {code: 'ENOSPC'})})).code, 452);
  for (const error of [new Error('EIO'), 'text', undefined, Object.assign(new Error('x'), {code: 'EIO'})])
    t.is(replyToStorageError(error).code, 451);
});
