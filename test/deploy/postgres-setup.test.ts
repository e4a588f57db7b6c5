// The set-up of docs/postgres.md on Debian, as it is written there.
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {programsMissing, systemPath} from '../helpers/installed.ts';
import {freeListens} from '../helpers/node.ts';
import {packageMissing, startUnit, startWithPackage} from '../helpers/packaged-system.ts';
import {freePort} from '../helpers/ports.ts';
import {testWith} from '../helpers/test-with.ts';

const page = await readFile(join(fileURLToPath(new URL('../..', import.meta.url)), 'docs/postgres.md'), 'utf8');
const [, block = ''] = /## Set it up[\s\S]*?```console\n([\s\S]*?)```/.exec(page) ?? [];
const commands = block
  .trimEnd()
  .split('\n')
  .map(line => line.replace(/^mx1# /, ''));

const withDebian = testWith('dpkg, PostgreSQL', packageMissing ?? programsMissing(['pg_createcluster', 'runuser'], systemPath));

withDebian('the commands of docs/postgres.md make a node on a PostgreSQL of Debian', async t => {
  const [install = '', ...others] = commands;
  t.is(install, 'apt-get install postgresql');
  t.is(others.length, 4);
  const {system} = await startWithPackage(t);
  await system.insist('dpkg --force-unsafe-io --install /mnt/*.deb');
  // What the installation of PostgreSQL does, on a port of its own.
  const port = await freePort();
  const [version = ''] = (await system.insist('ls /usr/lib/postgresql')).split('\n').toReversed();
  await system.insist('pg_createcluster --port "$1" "$2" docs', String(port), version);
  t.teardown(async () => void (await system.sh('pg_ctlcluster --mode immediate "$1" docs stop', version)));
  await system.insist('pg_ctlcluster "$1" docs start', version);

  for (const command of others) {
    const isInit = command.startsWith('mfd init');
    const adapted = command.replace('@localhost/', `@localhost:${port}/`);
    await system.insist(`export PGPORT=${port}; ${adapted} "$@"`, ...(isInit ? await freeListens() : []));
  }
  const unit = await startUnit(system);

  t.regex(String(await unit.ready()), /^mfd ready node=/);
  t.like(JSON.parse(await system.insist('mfctl whoami -o json')), {name: 'admin', scope: 'full-admin'});
  t.is(await system.insist('stat -c "%U %a" /etc/mfd-store.pw'), 'mfd 600');
  t.not((await system.sh('test -e /var/lib/mfd/mfd.db')).code, 0);
  const nodes = `runuser -u postgres -- psql -p "$1" -At -c "SELECT count(*) FROM config_record WHERE kind = 'node'" mfd`;
  t.is(await system.insist(nodes, String(port)), '1');
  unit.signal('SIGTERM');
  t.is(await unit.ended, 0);
});
