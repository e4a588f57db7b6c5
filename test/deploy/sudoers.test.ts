// The shipped sudoers file: what it allows the user mfd, as the real sudo reads it.
import {spawnSync} from 'node:child_process';
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';
import {programsMissing, systemPath} from '../helpers/installed.ts';
import {mayScratch, startScratchSystem} from '../helpers/scratch-system.ts';
import {testWith} from '../helpers/test-with.ts';

const sudoers = fileURLToPath(new URL('../../daemon/deploy/sudoers', import.meta.url));
const missing = programsMissing(['sudo', 'visudo', 'useradd'], systemPath);

const hold = '/var/spool/postfix/hold';

const allowed = [
  '/usr/sbin/postsuper -H - hold',
  '/usr/sbin/postsuper -r - hold',
  '/usr/sbin/postsuper -d - hold',
  `/usr/sbin/postcat -bh ${hold}/4jX9d90rF0zJDxf`,
  `/usr/sbin/postcat -bh ${hold}/8/D/4jX9d90rF0zJDxf`,
  `/usr/sbin/postcat -eh ${hold}/4jX9d90rF0zJDxf`,
  `/usr/sbin/postcat -eh${` ${hold}/4jX9d90rF0zJDxf`.repeat(100)}`,
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
  '/usr/sbin/postcat -bhq 4jX9d90rF0zJDxf',
  '/usr/sbin/postcat -ehq 4jX9d90rF0zJDxf',
  '/usr/sbin/postcat -bh 4jX9d90rF0zJDxf',
  '/usr/sbin/postcat -bh hold/4jX9d90rF0zJDxf',
  '/usr/sbin/postcat -bh /var/spool/postfix/incoming/4jX9d90rF0zJDxf',
  '/usr/sbin/postcat -bh /var/spool/postfix/deferred/8/4jX9d90rF0zJDxf',
  `/usr/sbin/postcat -bh ${hold}/4jX9d`,
  `/usr/sbin/postcat -bh ${hold}/../active/4jX9d90rF0zJDxf`,
  `/usr/sbin/postcat -bh ${hold}/./../active/4jX9d90rF0zJDxf`,
  `/usr/sbin/postcat -bh ${hold}/8D/4jX9d90rF0zJDxf`,
  `/usr/sbin/postcat -bh ${hold}//etc/shadow`,
  `/usr/sbin/postcat -bh ${hold}/4jX9d90rF0zJDxf/../../active/4jX9d90rF0zJDxf`,
  `/usr/sbin/postcat -bh ${hold}/4jX9d90rF0zJDxf ${hold}/4jX9d90rF0zJDxf`,
  `/usr/sbin/postcat -bh ${hold}/4jX9d90rF0zJDxf /etc/shadow`,
  `/usr/sbin/postcat -eh ${hold}/4jX9d90rF0zJDxf -c /tmp`,
  `/usr/sbin/postcat -ehq ${hold}/4jX9d90rF0zJDxf`,
  '/usr/sbin/postcat -eh',
  `/usr/sbin/postcat -eh${` ${hold}/4jX9d90rF0zJDxf`.repeat(101)}`,
  '/bin/sh',
];

/**
 * sudo allows only programs that exist, and does not check their content: where Postfix is not installed, any program will do.
 */
const asked = `
for program in postsuper postcat; do [ -e /usr/sbin/$program ] || cp /bin/true /usr/sbin/$program; done
getent passwd mfd > /dev/null || useradd --system mfd
install -m 440 /mnt/sudoers /etc/sudoers.d/mfd
for command; do
  if sudo -l -U mfd $command > /dev/null; then echo "yes $command"; else echo "no $command"; fi
done
`;

testWith('sudo', missing)('visudo has nothing to say against the sudoers lines', t => {
  const {status, stdout, stderr} = spawnSync('visudo', ['--check', '--strict', `--file=${sudoers}`], {
    encoding: 'utf8',
    env: {PATH: systemPath},
  });

  t.is(status, 0, stdout + stderr);
});

const whyNot = missing ?? (mayScratch ? undefined : 'needs root with an overlay');
testWith('sudo', whyNot)('sudo lets mfd act on the hold queue by queue id, and do nothing else', async t => {
  const system = await startScratchSystem(t, dirname(sudoers));

  const answers = await system.insist(asked, ...allowed, ...refused);

  t.deepEqual(answers.split('\n'), [...allowed.map(command => `yes ${command}`), ...refused.map(command => `no ${command}`)]);
});
