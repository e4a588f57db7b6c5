import {chmod, mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {findLog} from '../../../daemon/setup/log-source.ts';
import {testFolder} from '../../helpers/test-folder.ts';

/** A user who is in no group that reads logs, with a number that has no name. */
const stranger = 54_321;

const start = async (t: ExecutionContext) => {
  const folder = await testFolder(t);
  const [journalDir, file] = [join(folder, 'journal'), join(folder, 'mail.log')];
  await writeFile(file, '');
  await chmod(file, 0o640);
  const find = async (maillogFile: string, uid = stranger) =>
    findLog({expanded: async () => maillogFile}, uid, {journalDir, logFiles: [join(folder, 'maillog'), file]});
  return {journalDir, file, find};
};

test('the log is what Postfix says, else the journal, else the file of syslog', async t => {
  const {journalDir, file, find} = await start(t);

  t.is((await find('/var/log/postfix.log')).value, '/var/log/postfix.log');
  t.is((await find('')).value, file);
  await mkdir(journalDir);
  t.is((await find('')).value, 'journal');
  t.is((await find('/dev/stdout')).value, 'journal');
});

test('who may not read the log is told which group may', async t => {
  const {journalDir, file, find} = await start(t);

  t.regex((await find(file)).advice ?? '', /may not read \S+mail\.log yet: usermod -aG \S+ #54321, before you restart it\.$/);
  t.is((await find(file, 0)).advice, undefined);
  await chmod(file, 0o600);
  t.regex((await find(file)).advice ?? '', /mail\.log has to be readable for a group/);
  await chmod(file, 0o644);
  t.is((await find(file)).advice, undefined);
  await mkdir(journalDir);
  t.regex((await find('')).advice ?? '', /usermod -aG systemd-journal #54321/);
});

test('a machine without a log is no failure', async t => {
  const found = await findLog({expanded: async () => ''}, stranger, {journalDir: '/nonexistent', logFiles: ['/nonexistent/log']});

  t.deepEqual(found, {value: undefined, advice: undefined});
});
