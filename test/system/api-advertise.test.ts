// Nodes that API clients reach at an address other than their own, as behind NAT.
import {readFile} from 'node:fs/promises';
import {connect, type PeerCertificate} from 'node:tls';
import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {mfdFile, nodeFolder, run} from '../helpers/node.ts';
import {startProxy} from '../helpers/tcp-proxy.ts';

const certificateAt = async (port: number, servername: string, ca: string): Promise<PeerCertificate> =>
  new Promise((resolve, reject) => {
    const socket = connect({host: '127.0.0.1', port, servername, ca}, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on('error', reject);
  });

test('every node tells of the address where clients reach a node behind NAT, and its certificate names it', async t => {
  const ports = new Map<string, number>();
  const natOf = async (name: string) => {
    const proxy = await startProxy(t, () => ({host: '127.0.0.1', port: ports.get(name) ?? 0}));
    return {port: proxy.port, address: `${name}.nat.test:${proxy.port}`};
  };
  const nat = {alpha: await natOf('alpha'), beta: await natOf('beta')};
  const env = {
    alpha: {MFD_API_ADVERTISE: nat.alpha.address},
    beta: {MFD_API_ADVERTISE: nat.beta.address},
  };

  const {nodes, converged} = await startCluster(t, {nodes: ['alpha', 'beta'], isProxied: false, env});

  for (const [name, {api_url}] of Object.entries(nodes)) ports.set(name, Number(new URL(api_url).port));
  await converged();
  for (const node of Object.values(nodes))
    t.deepEqual(
      (
        await eventually(async () => {
          const {peers} = await node.status();
          return peers.every(({api_url}) => api_url !== '') && peers;
        })
      ).map(({api_url}) => api_url),
      [`https://${nat.alpha.address}`, `https://${nat.beta.address}`],
    );
  for (const name of ['alpha', 'beta'] as const) {
    const {subjectaltname} = await certificateAt(nat[name].port, `${name}.nat.test`, await readFile(nodes[name].ca_file, 'utf8'));
    t.true(subjectaltname?.includes(`DNS:${name}.nat.test`), subjectaltname);
  }
});

test('the address is kept in mfd.yaml by who makes a node, and has to be one', async t => {
  const {root} = await nodeFolder(t);
  const make = async (address: string) =>
    run(mfdFile, ['init', '--data', `${root}/data`, '--api-advertise', address, '--api-listen', '127.0.0.1:0'], {
      env: {XDG_CONFIG_HOME: root},
    });

  const wrong = await make('mail.example.com');
  const right = await make('mail.example.com:443');

  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /--api-advertise "mail\.example\.com": must be HOST:PORT/);
  t.is(right.code, 0, right.stderr);
  t.regex(await readFile(`${root}/data/mfd.yaml`, 'utf8'), /^ {2}advertise: mail\.example\.com:443$/m);
});
