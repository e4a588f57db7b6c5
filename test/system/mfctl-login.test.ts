// A login to real nodes by the built program: the fingerprint that it shows is that of the certificate on their disk.
import {X509Certificate} from 'node:crypto';
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {selfSigned} from '../helpers/certificate.ts';
import {startCluster} from '../helpers/cluster.ts';
import {startNode} from '../helpers/node.ts';

test.serial('the fingerprint of the cluster is good for all of its nodes, and for no other cluster', async t => {
  const [{nodes}, stranger] = await Promise.all([startCluster(t, {nodes: ['alpha', 'beta'], isProxied: false}), startNode(t)]);
  const {alpha, beta} = nodes;
  const {fingerprint256} = new X509Certificate(await readFile(alpha.ca_file));
  const env = {XDG_CONFIG_HOME: join(alpha.xdgConfigHome, 'ops'), MFCTL_URL: '', MFCTL_CACERT: '', MFCTL_API_KEY: ''};
  const login = async (url: string) =>
    alpha.mfctl(['login', url, '--fingerprint', fingerprint256, '--api-key-file', '-', '-o', 'json'], {
      env,
      input: alpha.api_key,
    });

  const [first, second, third] = [await login(alpha.api_url), await login(beta.api_url), await login(stranger.api_url)];
  const used = await alpha.mfctl(['whoami', '-o', 'json'], {env});
  const elsewhere = await alpha.mfctl(['whoami', '--url', stranger.api_url], {env});

  t.like(JSON.parse(first.stdout), {context: 'alpha', node_id: 'alpha', key_name: 'admin'});
  t.like(JSON.parse(second.stdout), {context: 'beta', node_id: 'beta'});
  t.is(third.code, 7);
  t.like(JSON.parse(used.stdout), {node_id: 'beta'});
  t.is(elsewhere.code, 7);
  t.regex(elsewhere.stderr, /\(tls_changed\)/);
});

test.serial('the port between nodes is named where it is given for that of the API', async t => {
  const node = await startNode(t);
  const {port, origin} = new URL(node.cluster_url);
  const said = `error: 127.0.0.1:${port}: ${port} is the port between nodes, not that of the API (unreachable)`;
  const url = origin.replace('localhost', '127.0.0.1');

  for (const args of [['whoami'], ['quarantine', 'list'], ['login', '--yes', url]]) {
    const {code, stderr} = await node.mfctl(args, {env: {MFCTL_URL: url, MFCTL_API_KEY: node.api_key}});
    t.is(code, 7);
    t.is(stderr.split('\n')[0], said, args.join(' '));
  }
});

test.serial('the certificate of an operator is shown as it is, without the authority of the cluster', async t => {
  const node = await startNode(t);
  const own = await selfSigned('localhost');
  const [certFile, keyFile] = [join(node.xdgConfigHome, 'c.pem'), join(node.xdgConfigHome, 'k.pem')];
  await writeFile(certFile, own.cert);
  await writeFile(keyFile, own.key);
  await writeFile(
    join(node.data, 'mfd.yaml'),
    (await readFile(join(node.data, 'mfd.yaml'), 'utf8')).replace(
      /^api:\n/m,
      `api:\n  cert_file: ${certFile}\n  key_file: ${keyFile}\n`,
    ),
  );
  await node.stop();
  await node.start();
  const url = node.api_url.replace('127.0.0.1', 'localhost');
  const env = {XDG_CONFIG_HOME: join(node.xdgConfigHome, 'ops'), MFCTL_API_KEY: node.api_key};

  const {code, stderr} = await node.mfctl(['login', url, '--yes'], {env});
  const used = await node.mfctl(['whoami'], {env: {...env, MFCTL_API_KEY: ''}});

  t.is(code, 0, stderr);
  t.true(stderr.includes(new X509Certificate(own.cert).fingerprint256));
  t.false(stderr.includes('Signed by'));
  t.is(used.code, 0);
});
