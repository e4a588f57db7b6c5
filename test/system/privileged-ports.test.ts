// Ports below 1024, for which a program needs a capability.
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {programsMissing} from '../helpers/installed.ts';
import {addToConfig, makeNode, nodeFolder} from '../helpers/node.ts';
import {mfdFile, run} from '../helpers/program.ts';
import {testWith} from '../helpers/test-with.ts';

const firstFree = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
const isRoot = process.getuid?.() === 0;
const missing = firstFree < 1024 ? 'everybody may listen on ports below 1024' : isRoot ? programsMissing(['setpriv']) : undefined;
/** Root without this one capability, or the user who runs the tests. */
const within = isRoot ? ['setpriv', '--bounding-set=-net_bind_service', '--inh-caps=-net_bind_service', '--'] : [];
const withoutRight = testWith('ports below 1024', missing);

withoutRight('each listener that needs the right to its port is named, with how to give it', async t => {
  const {root, xdgConfigHome} = await nodeFolder(t);
  const env = {XDG_CONFIG_HOME: xdgConfigHome};
  const {data} = await makeNode(['init', '--data', join(root, 'data')], {env});
  await addToConfig(data, {smtp: {listen: '127.0.0.1:25'}, api: {listen: '127.0.0.1:443'}});

  const {code, stderr} = await run(mfdFile, ['start', '--data', data], {within});

  t.is(code, 1);
  const [line, ...more] = stderr
    .trimEnd()
    .split('\n')
    .filter(text => !text.startsWith('{'));
  t.deepEqual(more, []);
  const of = (key: string, address: string, variable: string) =>
    `${key} ${address} needs the right to bind ports below 1024 (${data}/mfd.yaml or ${variable})`;
  t.true(
    line?.startsWith(
      `mfd: ${of('api.listen', '127.0.0.1:443', 'MFD_API_LISTEN')}; ${of('smtp.listen', '127.0.0.1:25', 'MFD_SMTP_LISTEN')}: `,
    ),
    line,
  );
  for (const way of ['AmbientCapabilities=CAP_NET_BIND_SERVICE', 'net.ipv4.ip_unprivileged_port_start', 'setcap'])
    t.true(line?.includes(way), way);
});
