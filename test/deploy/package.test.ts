// The Debian package on a system of its own: installed, run like its unit, removed, purged.
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import packageJson from '../../package.json' with {type: 'json'};
import {isInstalled, systemPath} from '../helpers/installed.ts';
import {freeListens} from '../helpers/node.ts';
import {packageMissing, startUnit, startWithPackage} from '../helpers/packaged-system.ts';
import {startScratchSystem} from '../helpers/scratch-system.ts';
import {testWith} from '../helpers/test-with.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const triggers = await readFile(join(root, 'daemon/deploy/debian/triggers'), 'utf8');

const withDpkg = testWith('dpkg', packageMissing);

withDpkg('the package is installed, makes a node that runs, and is removed without a trace but the data', async t => {
  const {system, file} = await startWithPackage(t);
  t.regex(file, /^mfd_[\d.]+_[a-z0-9]+\.deb$/);
  await system.insist('touch /tmp/before');
  const newInUsr = async () => system.insist('find /usr -xdev -cnewer /tmp/before "(" ! -type d -o -name "mfd*" ")" | head');

  const installed = await system.insist('dpkg --force-unsafe-io --install /mnt/*.deb');
  t.regex(installed, /mfd init --data \/var\/lib\/mfd/);
  t.is(await system.insist('dpkg --verify mfd'), '');
  t.not(await newInUsr(), '');
  t.is(await system.insist('mfd --version'), packageJson.version);
  t.is(await system.insist('stat -c "%U:%G %a" /var/lib/mfd'), 'mfd:mfd 700');
  t.is(await system.insist('find /usr/lib/mfd /usr/share/mfd -perm /022 ! -type l'), '');
  t.regex(await system.insist('getent passwd mfd'), /:\/var\/lib\/mfd:\/usr\/sbin\/nologin$/);
  t.regex(
    await system.insist('readlink /etc/systemd/system/multi-user.target.wants/mfd.service'),
    /systemd\/system\/mfd\.service$/,
  );
  await system.insist('test -s /usr/share/bash-completion/completions/mfctl && test -x /usr/lib/mfd/postfix-helper');
  const hasMan = isInstalled('man', systemPath);
  if (hasMan) await system.insist('man -w mfctl && man -w mfd && man -w mfd.yaml');
  if (isInstalled('systemd-analyze', systemPath))
    // With --man=yes it looks up the pages named in the units with `man`.
    t.is(await system.insist(`systemd-analyze verify --man=${hasMan ? 'yes' : 'no'} mfd.service mfd-postfix.socket 2>&1`), '');

  await system.insist('mfd init --data /var/lib/mfd "$@"', ...(await freeListens()));
  const unit = await startUnit(system);
  t.regex(String(await unit.ready()), /^mfd ready node=/);
  t.like(JSON.parse(await system.insist('mfctl whoami -o json')), {name: 'admin', scope: 'full-admin'});
  t.is(await system.insist('find /var/lib/mfd ! -user mfd'), '');
  unit.signal('SIGTERM');
  t.is(await unit.ended, 0);

  await system.insist('dpkg --force-unsafe-io --remove mfd');
  t.is(await newInUsr(), '');
  await system.insist('test -s /var/lib/mfd/mfd.db && getent passwd mfd');
  const purged = await system.insist('dpkg --purge mfd 2>&1');
  t.regex(purged, /\/var\/lib\/mfd is left as it is.*\n {2}the key of the cluster's CA/);
  await system.insist('test -s /var/lib/mfd/tls/ca.key && test -s /var/lib/mfd/mfd.db');
  t.is(await system.insist('find /var/lib/mfd ! -user mfd'), '');
  await system.insist(/any more: (.*)$/m.exec(purged)?.[1] ?? 'false');
  t.is(
    await system.insist(
      'find /etc /var /run -xdev -cnewer /tmp/before -name "*mfd*" ! -path "/var/cache/man/*" ! -path "/var/log/*"',
    ),
    '',
  );
  t.not((await system.sh('getent passwd mfd || getent group mfd')).code, 0);
});

withDpkg('a purge leaves the data folder and its user when it holds mail or the key of a CA, and nothing else', async t => {
  const system = await startScratchSystem(t, join(root, 'daemon/deploy/debian'));
  const data = '/var/lib/mfd';
  const purgeOf = async (files: string) => {
    await system.insist(`rm -rf ${data} && sh /mnt/postinst configure`);
    await system.insist(`cd ${data} && install -D /dev/null mfd.db && for file in ${files}; do install -D /dev/null $file; done`);
    // Programs that want to be run by dpkg say so.
    const [said = ''] = /^WARNING[\s\S]*?deluser.*$/m.exec(await system.insist('sh /mnt/postrm purge 2>&1')) ?? [];
    return {said, isLeft: (await system.sh(`test -e ${data}/mfd.db && getent passwd mfd`)).code === 0};
  };

  t.deepEqual(await purgeOf('tls/ca.crt tls/node.key'), {said: '', isLeft: false});
  for (const [files, what] of [
    ['spool/held/4b/AAAA', 'held mail'],
    ['spool.migrated/held/AAAA', 'held mail'],
    ['tls/ca.key', "the key of the cluster's CA (tls/ca.key)"],
    ['spool/held/AAAA tls/ca.key', "held mail\n  the key of the cluster's CA (tls/ca.key)"],
  ] as const) {
    const {said, isLeft} = await purgeOf(files);
    t.true(isLeft, files);
    t.is(
      said,
      `WARNING: ${data} is left as it is, with the user mfd. It holds:\n  ${what}\n` +
        `If nobody needs it any more: rm -rf ${data} && deluser --system mfd`,
      files,
    );
  }
});

const postfixAbsent = packageMissing ?? (isInstalled('postsuper', systemPath) ? undefined : 'Postfix is not installed');

testWith('dpkg, Postfix', postfixAbsent)('mfd joins a Postfix that is there, and one that is installed later', async t => {
  const system = await startScratchSystem(t, join(root, 'daemon/deploy/debian'));
  const groups = async () => (await system.insist('id -nG mfd')).split(' ');

  await system.insist('sh /mnt/postinst configure');
  const first = await groups();
  const sockets = await system.insist('stat -c "%U:%G %a" /var/spool/postfix/mfd');
  await system.insist(
    'deluser --quiet mfd postdrop && rmdir /var/spool/postfix/mfd && sh /mnt/postinst triggered /usr/sbin/postsuper',
  );
  await system.insist('sh /mnt/postinst triggered /usr/sbin/postsuper');

  t.true(first.includes('postdrop'));
  t.is(sockets, 'mfd:postfix 2750');
  t.deepEqual(await groups(), first);
  t.is(await system.insist('stat -c "%U:%G %a" /var/spool/postfix/mfd'), sockets);
  const quiet = await system.insist('sh /mnt/prerm remove 2>&1');
  await system.insist('mkdir -p /etc/postfix && touch /etc/postfix/mfd-setup.json');
  t.is(quiet, '');
  t.is(await system.insist('sh /mnt/prerm upgrade 0.9.0 2>&1'), '');
  t.regex(await system.insist('sh /mnt/prerm remove 2>&1'), /^WARNING: Postfix still asks mfd[\s\S]*mfd setup postfix .* --undo/);
  t.regex(triggers, /^interest-noawait \/usr\/sbin\/postsuper$/m);
});
