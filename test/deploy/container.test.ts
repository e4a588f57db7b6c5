// The files for containers: what they name is there, and agrees with the configuration of a node.
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import {parse} from 'yaml';
import {z} from 'zod';
import {readConfig} from '../../daemon/config/load.ts';
import packageJson from '../../package.json' with {type: 'json'};
import {programsMissing} from '../helpers/installed.ts';
import {testWith} from '../helpers/test-with.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'daemon/deploy/docker');
const dockerfile = (await readFile(join(folder, 'Dockerfile'), 'utf8')).replaceAll('\\\n', '');

const instructions = dockerfile
  .split('\n')
  .filter(line => line !== '' && !line.startsWith('#'))
  .map(line => /^(?<name>[A-Z]+) (?<rest>.*)$/.exec(line)?.groups ?? {name: line, rest: ''});
const restOf = (wanted: string): string[] => instructions.filter(({name}) => name === wanted).map(({rest}) => String(rest));

/** The part of the Compose specification that the example uses. */
const composeSchema = z.strictObject({
  services: z.record(
    z.string(),
    z.strictObject({
      build: z.strictObject({context: z.string(), dockerfile: z.string()}).optional(),
      image: z.string().optional(),
      hostname: z.string().optional(),
      environment: z.record(z.string(), z.string()).optional(),
      ports: z.array(z.string().regex(/^\d+:\d+$/)).optional(),
      volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(:ro)?$/)).optional(),
      stop_grace_period: z.string().optional(),
      restart: z.enum(['no', 'always', 'on-failure', 'unless-stopped']),
      depends_on: z.array(z.string()).optional(),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
});
const compose = composeSchema.parse(parse(await readFile(join(folder, 'compose.yaml'), 'utf8')));
const portOf = (address: string): string => address.split(':').at(-1) ?? '';

test('the image is built by scripts of this package, and is a node that runs as its user on the package’s folder', t => {
  t.deepEqual(
    instructions
      .map(({name}) => name)
      .filter(name => !/^(FROM|RUN|WORKDIR|COPY|USER|VOLUME|ENV|EXPOSE|HEALTHCHECK|CMD)$/.test(String(name))),
    [],
  );
  for (const [, script = ''] of dockerfile.matchAll(/npm run ([\w:]+)/g)) t.true(script in packageJson.scripts, script);
  t.deepEqual(restOf('USER'), ['mfd']);
  t.deepEqual(restOf('VOLUME'), ['/var/lib/mfd']);
  t.deepEqual(JSON.parse(restOf('CMD')[0] ?? ''), ['mfd', 'start', '--init', '--data', '/var/lib/mfd']);
  // What `COPY . .` takes is in version control.
  t.true(existsSync(join(folder, 'Dockerfile.dockerignore')));
});

test('ports and variables of both files are those of a node', async t => {
  const service = compose.services.mfd;
  const ofImage = Object.fromEntries(restOf('ENV').map(line => line.split('=')));
  const {config, unknownVariables} = await readConfig('', 'mfd.yaml', {...ofImage, ...service?.environment});
  const listens = [config.smtp.listen, config.api.listen, config.cluster.listen].map(portOf);

  t.deepEqual(unknownVariables, []);
  t.deepEqual(restOf('EXPOSE'), [listens.join(' ')]);
  t.deepEqual(service?.ports?.map(portOf), listens.slice(0, 2));
  t.true([config.smtp.listen, config.api.listen].every(address => address.startsWith('0.0.0.0:')));
  t.is(config.fqdn, service?.hostname);
  t.true(restOf('HEALTHCHECK')[0]?.includes(`http://${config.metrics.listen}/readyz`));
  t.true(new URL(config.scanner.rspamd_url).hostname in compose.services);
});

test('what the services need is declared, or is in the folder', async t => {
  const named = Object.values(compose.services).flatMap(({volumes = []}) => volumes.map(text => text.split(':')[0] ?? ''));

  t.deepEqual(
    named.filter(name => !name.startsWith('.') && !(name in compose.volumes)),
    [],
  );
  for (const path of named.filter(name => name.startsWith('.'))) t.true(existsSync(join(folder, path)), path);
  for (const {build, image, depends_on = []} of Object.values(compose.services)) {
    t.true((build === undefined) !== (image === undefined));
    if (build) t.is(join(folder, build.context, build.dockerfile), join(folder, 'Dockerfile'));
    for (const other of depends_on) t.true(other in compose.services, other);
  }
  const antivirus = await readFile(join(folder, 'rspamd/antivirus.conf'), 'utf8');
  t.true((/servers = "(.+):3310"/.exec(antivirus)?.[1] ?? '') in compose.services);
  t.deepEqual((await readdir(join(folder, 'rspamd'))).sort(), ['antivirus.conf', 'antivirus_group.conf', 'worker-normal.inc']);
});

const dockerMissing =
  programsMissing(['docker']) ??
  (spawnSync('docker', ['info'], {stdio: 'ignore'}).status === 0 ? undefined : 'its daemon is away');

testWith('docker', dockerMissing)('the image is built, and its node says its version', t => {
  const image = `mfd-test-${process.pid}`;
  const docker = (...args: string[]) => spawnSync('docker', args, {cwd: root, encoding: 'utf8'});
  const built = docker('build', '--file', 'daemon/deploy/docker/Dockerfile', '--tag', image, '.');
  t.is(built.status, 0, built.stderr);
  t.is(docker('run', '--rm', image, 'mfd', '--version').stdout.trim(), packageJson.version);
  docker('image', 'rm', image);
});
