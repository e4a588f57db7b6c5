import {chmod, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {pino} from 'pino';
import {leavesOf, readConfig} from '../../../daemon/config/load.ts';
import {configSchema} from '../../../daemon/config/schema.ts';
import type {Base} from '../../../daemon/node/base.ts';
import {openDependencies, passwordFileFault, publicRemarks} from '../../../daemon/node/dependencies.ts';
import {liveSettings} from '../../../daemon/node/live-settings.ts';
import {eventually} from '../../helpers/eventually.ts';
import {testFolder} from '../../helpers/test-folder.ts';

const openText = 'every user of this machine can read it';

test('all password files of a configuration that every user can read are problems, named by their keys', async t => {
  const file = join(await testFolder(t), 'password');
  await writeFile(file, 'secret', {mode: 0o600});
  await chmod(file, 0o644);
  const text = [
    ...['store:', '  url: postgres://mfd@127.0.0.1/mfd', `  password_file: ${file}`],
    ...['smtp:', '  smarthost: mail.example.com:587', '  smarthost_username: mfd', `  smarthost_password_file: ${file}`],
    ...['scanner:', `  rspamd_password_file: ${file}`, `  rspamd_controller_password_file: ${file}`],
  ];
  const settings = liveSettings(await readConfig(text.join('\n'), 'mfd.yaml', {}));
  const keys = leavesOf(configSchema).flatMap(({path}) => (path.at(-1)?.endsWith('password_file') ? [path.join('.')] : []));
  const storage = {engine: {kind: 'common'}} as Base['storage'];
  const dependencies = openDependencies({settings: () => settings, storage, log: pino({level: 'silent'}), now: Date.now});

  // Each is looked at now rather than in its turn.
  for (const name of keys) dependencies.failed('password_file', {name, detail: 'look'});
  const problems = await eventually(() => dependencies.problems().length === keys.length && dependencies.problems());

  t.true(keys.length > 3);
  t.deepEqual(problems.map(({name}) => name).sort(), keys.toSorted());
  t.false(JSON.stringify(problems).includes(file));
  t.like(problems[0], {part: 'password_file', detail: openText, refuses_mail: false});
});

test('the log says of a password file that it is open, and of no other part', async t => {
  const file = join(await testFolder(t), 'password');
  await writeFile(file, 'secret', {mode: 0o600});
  await chmod(file, 0o644);
  const settings = liveSettings(await readConfig(`scanner:\n  rspamd_password_file: ${file}`, 'mfd.yaml', {}));
  const lines: {msg: string; part: string}[] = [];
  const log = pino({}, {write: line => lines.push(JSON.parse(line))});
  const storage = {engine: {kind: 'common'}} as Base['storage'];
  const dependencies = openDependencies({settings: () => settings, storage, log, now: Date.now});

  dependencies.check();
  await eventually(() => lines.length > 0);
  await chmod(file, 0o600);
  dependencies.failed('password_file', {name: 'scanner.rspamd_password_file', detail: 'look'});
  await eventually(() => lines.length > 1);
  dependencies.failed('store', {detail: 'gone', isCertain: true});

  t.deepEqual(
    lines.map(({part, msg}) => [part, msg]),
    [
      ['password_file', 'every user of this machine can read a password file'],
      ['password_file', 'a password file is no longer open to every user'],
      ['store', 'a part that this node depends on does not work'],
    ],
  );
});

test('a password file is open when others than its owner and group can read it, at the moment', async t => {
  const file = join(await testFolder(t), 'password');
  await writeFile(file, 'secret');
  const faults: (string | undefined)[] = [];
  for (const mode of [0o600, 0o640, 0o644, 0o604]) {
    await chmod(file, mode);
    faults.push(await passwordFileFault(file));
  }
  await rm(file);

  t.deepEqual(faults, [undefined, undefined, openText, openText]);
  t.is(await passwordFileFault(file), undefined);
});

const problem = {part: 'backend', name: '192.0.2.1:25', domains: ['example.com'], detail: '554 go away', refuses_mail: false};

test('remarks name no address and no domain, count backends, and leave out what refuses mail and password files', t => {
  const remarks = publicRemarks([
    {...problem, part: 'scanner', since: '2026-11-27T06:00:00.000Z', refuses_mail: true},
    {...problem, part: 'name_servers', since: '2026-11-27T07:00:00.000Z'},
    {...problem, since: '2026-11-27T08:00:00.000Z'},
    {...problem, since: '2026-11-27T07:30:00.000Z', name: '192.0.2.2:25'},
    {...problem, part: 'postfix_log', name: '', since: '2026-11-27T07:10:00.000Z'},
    {...problem, part: 'password_file', name: 'store.password_file', since: '2026-11-27T07:30:00.000Z'},
  ]);

  t.deepEqual(remarks, [
    'the name servers do not answer since 2026-11-27T07:00:00.000Z',
    '2 backends do not work, the first since 2026-11-27T07:30:00.000Z',
    'the log of Postfix cannot be read since 2026-11-27T07:10:00.000Z',
  ]);
});
