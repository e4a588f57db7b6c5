// The shipped units, as systemd parses and rates them.
import {spawnSync} from 'node:child_process';
import {mkdir, readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test, {type ExecutionContext} from 'ava';
import {programsMissing} from '../helpers/installed.ts';
import {testFolder} from '../helpers/test-folder.ts';
import {testWith} from '../helpers/test-with.ts';

const shipped = fileURLToPath(new URL('../../daemon/deploy/systemd/', import.meta.url));
const withSystemd = testWith('systemd', programsMissing(['systemd-analyze']));

/** The highest permitted exposure of a unit, in tenths on systemd's scale to 10. */
const highestExposure = 20;

/** The units, with paths of existing programs, as the programs of mfd are not installed yet. */
const installUnits = async (t: ExecutionContext): Promise<string> => {
  const folder = await testFolder(t);
  for (const name of await readdir(shipped)) {
    const text = await readFile(join(shipped, name), 'utf8');
    await writeFile(join(folder, name), text.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'));
  }
  return folder;
};

const analyze = (...args: string[]) => {
  const {status, stdout, stderr} = spawnSync('systemd-analyze', args, {encoding: 'utf8'});
  return {status, output: stdout + stderr};
};

const rate = (unit: string) => analyze('security', '--no-pager', '--offline=yes', `--threshold=${highestExposure}`, unit);

withSystemd('systemd has nothing to say against the units', async t => {
  const folder = await installUnits(t);

  for (const name of await readdir(shipped))
    t.deepEqual(analyze('verify', '--man=no', join(folder, name)), {status: 0, output: ''}, name);
});

withSystemd('the services are exposed to 2.0 or less', async t => {
  const folder = await installUnits(t);

  for (const name of (await readdir(shipped)).filter(unit => unit.endsWith('.service'))) {
    const {status, output} = rate(join(folder, name));
    t.regex(output, /Overall exposure level for /);
    t.is(status, 0, output);
  }
});

withSystemd('the drop-in for port 25 that the unit tells of leaves the service at 2.0 or less', async t => {
  const folder = await installUnits(t);
  const unit = join(folder, 'mfd.service');
  const dropIn = [...(await readFile(unit, 'utf8')).matchAll(/^# {3}(\S.*)$/gm)].map(([, line]) => line);
  await mkdir(`${unit}.d`);
  await writeFile(join(`${unit}.d`, 'port-25.conf'), `${dropIn.join('\n')}\n`);

  t.deepEqual(dropIn.slice(0, 2), ['[Service]', 'PrivateUsers=no']);
  t.deepEqual(analyze('verify', '--man=no', unit), {status: 0, output: ''});
  const {status, output} = rate(unit);
  t.regex(output, /✗ CapabilityBoundingSet=~CAP_NET_/);
  t.is(status, 0, output);
});

test('the programs that the helper runs know of no IPv4 and no IPv6, and do not look for the addresses of main.cf', async t => {
  const helper = await readFile(join(shipped, 'mfd-postfix@.service'), 'utf8');

  for (const line of ['RestrictAddressFamilies=AF_UNIX', 'PrivateNetwork=yes', 'IPAddressDeny=any'])
    t.true(helper.split('\n').includes(line), line);
});

test('the user, the data and the programs are the ones that the package makes', async t => {
  const service = await readFile(join(shipped, 'mfd.service'), 'utf8');
  const socket = await readFile(join(shipped, 'mfd-postfix.socket'), 'utf8');
  const setting = (text: string, name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];

  t.is(setting(service, 'User'), 'mfd');
  t.is(setting(service, 'StateDirectory'), 'mfd');
  t.is(setting(service, 'ExecStart'), '/usr/bin/mfd start --data /var/lib/mfd');
  t.is(setting(service, 'MemoryDenyWriteExecute'), undefined, 'V8 compiles to memory');
  t.is(setting(service, 'IPAddressDeny'), undefined, 'peers, backends and Rspamd are anywhere');
  t.is(setting(socket, 'SocketMode'), '0660');
  t.is(setting(socket, 'SocketGroup'), 'mfd');
});
