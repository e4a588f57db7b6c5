// What the shipped sudoers allows the user mfd, as the real sudo reads it.
import {spawnSync} from 'node:child_process';
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import {isInstalled} from '../helpers/installed.ts';
import {mayScratch, startScratchSystem} from '../helpers/scratch-system.ts';

const sudoers = fileURLToPath(new URL('../../daemon/deploy/sudoers', import.meta.url));
const hasSudo = isInstalled('sudo') && isInstalled('visudo');
const titleOf = (title: string, isPossible: boolean): string =>
  isPossible ? title : `${title} (needs sudo, and root with an overlay)`;

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

const asked = `
getent passwd mfd > /dev/null || useradd --system mfd
install -m 440 /mnt/sudoers /etc/sudoers.d/mfd
for command; do
  if sudo -l -U mfd $command > /dev/null; then echo "yes $command"; else echo "no $command"; fi
done
`;

(hasSudo ? test : test.skip)(titleOf('visudo has nothing to say against the sudoers lines', hasSudo), t => {
  const {status, stdout, stderr} = spawnSync('visudo', ['--check', '--strict', `--file=${sudoers}`], {encoding: 'utf8'});

  t.is(status, 0, stdout + stderr);
});

const canAsk = hasSudo && mayScratch;
(canAsk ? test : test.skip)(titleOf('sudo lets mfd act on the hold queue by queue id, and do nothing else', canAsk), async t => {
  const system = await startScratchSystem(t, dirname(sudoers));

  const answers = await system.insist(asked, ...allowed, ...refused);

  t.deepEqual(answers.split('\n'), [...allowed.map(command => `yes ${command}`), ...refused.map(command => `no ${command}`)]);
});
