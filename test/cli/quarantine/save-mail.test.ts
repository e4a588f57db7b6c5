import {open, readFile, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {saveMail} from '../../../cli/quarantine/save-mail.ts';
import {testFolder} from '../../helpers/store.ts';

async function* chunks() {
  yield Buffer.from('Subject: ');
  yield Buffer.from('held\r\n\r\n');
}
const mail = async () => chunks();

test('a file that exists is not overwritten, and with force it is', async t => {
  const file = join(await testFolder(t), 'mail.eml');
  await writeFile(file, 'mine');

  await t.throwsAsync(saveMail(mail, file), {message: /exists/});
  t.is(await readFile(file, 'utf8'), 'mine');
  t.is(await saveMail(mail, file, {isForced: true}), 17);
  t.is(await readFile(file, 'utf8'), 'Subject: held\r\n\r\n');
});

test('a descriptor that the shell has opened on a file is written to, after what is there', async t => {
  const file = join(await testFolder(t), 'mails');
  await writeFile(file, 'first\n');
  const {ino} = await stat(file);

  const handle = await open(file, 'a');
  const size = await saveMail(mail, `/dev/fd/${handle.fd}`);
  await handle.writeFile('last\n');
  await handle.close();

  t.is(size, 17);
  t.is(await readFile(file, 'utf8'), 'first\nSubject: held\r\n\r\nlast\n');
  t.is((await stat(file)).ino, ino);
});

test('a descriptor for reading alone is no way to overwrite a file', async t => {
  const file = join(await testFolder(t), 'mails');
  await writeFile(file, 'mine');

  const handle = await open(file, 'r');
  await t.throwsAsync(saveMail(mail, `/dev/fd/${handle.fd}`), {message: /cannot be written|EBADF/});
  await handle.close();

  t.is(await readFile(file, 'utf8'), 'mine');
});
