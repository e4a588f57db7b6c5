import {chmod, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {leavesOf, readConfig} from '../../../daemon/config/load.ts';
import {configSchema} from '../../../daemon/config/schema.ts';
import {liveSettings} from '../../../daemon/node/live-settings.ts';
import {openPasswordFiles} from '../../../daemon/node/open-password-files.ts';
import {testFolder} from '../../helpers/test-folder.ts';

test('of all password files of a configuration those that every user can read are found, as they are at the moment', async t => {
  const file = join(await testFolder(t), 'password');
  await writeFile(file, 'secret');
  const text = [
    ...['store:', '  url: postgres://mfd@127.0.0.1/mfd', `  password_file: ${file}`],
    ...['smtp:', '  smarthost: mail.example.com:587', '  smarthost_username: mfd', `  smarthost_password_file: ${file}`],
    ...['scanner:', `  rspamd_password_file: ${file}`, `  rspamd_controller_password_file: ${file}`],
  ];
  const {passwordFiles} = liveSettings(await readConfig(text.join('\n'), 'mfd.yaml', {}));
  const keys = leavesOf(configSchema).map(({path}) => path.join('.'));

  t.deepEqual(passwordFiles.map(({key}) => key).sort(), keys.filter(key => key.endsWith('password_file')).sort());
  for (const [mode, isOpen] of [
    [0o600, false],
    [0o640, false],
    [0o644, true],
    [0o604, true],
  ] as const) {
    await chmod(file, mode);
    t.is((await openPasswordFiles(passwordFiles)).length, isOpen ? passwordFiles.length : 0, mode.toString(8));
  }
  await rm(file);
  t.deepEqual(await openPasswordFiles(passwordFiles), []);
});
