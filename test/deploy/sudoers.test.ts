// What the shipped sudoers allows the user mfd, as the real sudo reads it.
import {spawnSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import {isInstalled} from '../helpers/installed.ts';
import {mayUnshare, runUnshared} from '../helpers/mount-namespace.ts';

const sudoers = fileURLToPath(new URL('../../daemon/deploy/sudoers', import.meta.url));
const hasSudo = isInstalled('sudo') && isInstalled('visudo');
const titleOf = (title: string, isPossible: boolean): string => (isPossible ? title : `${title} (needs sudo, and root)`);

const allowed = [
  '/usr/sbin/postsuper -H - hold',
  '/usr/sbin/postsuper -r - hold',
  '/usr/sbin/postsuper -d - hold',
  '/usr/sbin/postcat -bhq 4jX9d90rF0zJDxf',
  '/usr/sbin/postcat -ehq 4jX9d90rF0zJDxf',
  `/usr/sbin/postcat -ehq${' 4jX9d90rF0zJDxf'.repeat(100)}`,
];

const refused = [
  '/usr/sbin/postsuper -d ALL',
  '/usr/sbin/postsuper -d ALL hold',
  '/usr/sbin/postsuper -h - hold',
  '/usr/sbin/postsuper -d - deferred',
  '/usr/sbin/postsuper -c /tmp -d - hold',
  '/usr/sbin/postsuper -d - hold incoming',
  '/usr/sbin/postsuper',
  '/usr/sbin/postcat /etc/shadow',
  '/usr/sbin/postcat -bhq 4jX9d',
  '/usr/sbin/postcat -bhq ../../../etc/shadow',
  '/usr/sbin/postcat -bhq 4jX9d90rF0zJDxf 4jX9d90rF0zJDxf',
  '/usr/sbin/postcat -ehq 4jX9d90rF0zJDxf -c /tmp',
  `/usr/sbin/postcat -ehq${' 4jX9d90rF0zJDxf'.repeat(101)}`,
  '/bin/sh',
];

/** The machine has no user mfd and takes over no file of a test: passwd and sudoers.d are this namespace's own. */
const asked = `
mount -t tmpfs -o mode=755 tmpfs /etc/sudoers.d
cp /etc/passwd /etc/sudoers.d/passwd~
grep -q '^mfd:' /etc/passwd || echo 'mfd:x:64990:64990::/nonexistent:/bin/sh' >> /etc/sudoers.d/passwd~
mount --bind /etc/sudoers.d/passwd~ /etc/passwd
install -m 440 "$1" /etc/sudoers.d/mfd
shift
for command; do
  if sudo -l -U mfd $command > /dev/null; then echo "yes $command"; else echo "no $command"; fi
done
`;

(hasSudo ? test : test.skip)(titleOf('visudo has nothing to say against the sudoers lines', hasSudo), t => {
  const {status, stdout, stderr} = spawnSync('visudo', ['--check', '--strict', `--file=${sudoers}`], {encoding: 'utf8'});

  t.is(status, 0, stdout + stderr);
});

const canAsk = hasSudo && mayUnshare;
(canAsk ? test : test.skip)(titleOf('sudo lets mfd act on the hold queue by queue id, and do nothing else', canAsk), async t => {
  const {stdout, stderr} = await runUnshared(asked, {args: [sudoers, ...allowed, ...refused]});

  t.deepEqual(
    stdout.trim().split('\n'),
    [...allowed.map(command => `yes ${command}`), ...refused.map(command => `no ${command}`)],
    stderr,
  );
});
