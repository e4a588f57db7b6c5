// Addresses of other nodes that a login learns: they are unverified, and the key may later be sent there.
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {rootCertificates} from 'node:tls';
import test, {type ExecutionContext} from 'ava';
import {isOwnAuthority, otherAddresses} from '../../../cli/cluster/other-addresses.ts';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {clusterStatus, domain, key, peer} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';
import {mfctlFile, run} from '../../helpers/program.ts';

const claims = (...urls: string[]) => clusterStatus([peer('mx1'), ...urls.map((api_url, at) => ({...peer(`n${at}`), api_url}))]);

test('only a file with nothing but authorities of its own vouches for nobody else', async t => {
  const ca = await createAuthority(Date.now());
  const leaf = await issueLeaf(ca, {commonName: 'mx1', hosts: ['localhost']}, Date.now());
  const [root = '', ...others] = rootCertificates;

  t.true(isOwnAuthority(ca.cert));
  t.true(isOwnAuthority(`# ours\n${ca.cert}\n${(await createAuthority(Date.now())).cert}`));
  for (const pem of [
    root,
    `${ca.cert}\n${others.at(-1)}`,
    [...rootCertificates].join('\n'),
    // Signed by another certificate, like the certificates with which public authorities sign.
    leaf.cert,
    (await selfSigned('localhost')).cert,
    '-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n',
    '',
  ])
    t.false(isOwnAuthority(pem), pem.slice(0, 100));
});

test('an address that means the machine itself is none of another machine', t => {
  const loopback = ['https://127.0.0.1:8443', 'https://localhost:8443', 'https://[::1]:8443'];

  t.deepEqual(otherAddresses(claims(...loopback, 'https://mx2.example.com'), 'https://mx1.example.com:8443'), [
    'https://mx2.example.com',
  ]);
  t.deepEqual(otherAddresses(claims(...loopback), 'https://127.0.0.1:9443'), loopback);
});

test('the node itself is left out, and no more are kept than a cluster has', t => {
  const many = Array.from({length: 1000}, (_, at) => `https://n${at}.example.com:8443`);
  const found = otherAddresses(claims('https://vip.example.com', ...many), 'https://vip.example.com');

  t.is(found.length, 31);
  t.is(found[0], 'https://n0.example.com:8443');
  t.false(otherAddresses(claims(), 'https://vip.example.com').includes('https://mx1.example.com:8443'));
});

/** A node that announces a server elsewhere with a publicly trusted certificate. */
const startClaiming = async (t: ExecutionContext) => {
  const [cluster, everybody] = await Promise.all([createAuthority(Date.now()), createAuthority(Date.now())]);
  const leafOf = (ca: typeof cluster) => issueLeaf(ca, {commonName: 'mx', hosts: ['localhost']}, Date.now());
  const elsewhere = await startApi(t, {'GET /domains': {data: [domain]}}, await leafOf(everybody));
  const answers = {
    'GET /auth/me': {data: {...key, permissions: ['me:read', 'cluster:read'], node_id: 'mx1'}},
    'GET /cluster/status': {data: claims(elsewhere.url)},
    'GET /domains': {data: []},
  };
  const node = await startApi(t, answers, await leafOf(cluster));
  const publicNode = await startApi(t, answers, await leafOf(everybody));
  const [clusterFile, publicFile] = [join(node.folder, 'cluster.pem'), join(node.folder, 'public.pem')];
  await writeFile(clusterFile, cluster.cert);
  await writeFile(publicFile, everybody.cert);
  const env = {XDG_CONFIG_HOME: node.folder, NODE_EXTRA_CA_CERTS: publicFile, MFCTL_RETRY_FOR: '0s'};
  const mfctl = (argv: string[], input = '') => run(mfctlFile, argv, {env, input});
  return {elsewhere, node, publicNode, clusterFile, mfctl};
};

test('a server elsewhere whose certificate everybody trusts never gets the key of a context with an authority of its own', async t => {
  const {elsewhere, node, clusterFile, mfctl} = await startClaiming(t);
  const login = await mfctl(
    ['login', node.url, '--cacert', clusterFile, '--api-key-file', '-', '-o', 'json'],
    `mfk_${'0'.repeat(38)}`,
  );
  node.stop();

  const {code, stderr} = await mfctl(['domain', 'list']);

  t.deepEqual(JSON.parse(login.stdout).urls, [node.url, elsewhere.url]);
  t.is(code, 7);
  t.regex(
    stderr,
    /the CA in \S+cluster\.pem \(cacert of the context mx1\) did not sign the certificate of localhost:\d+ \(tls_untrusted\)/,
  );
  t.is(elsewhere.requests.length, 0);
  // It would be trusted without the setting of the authority.
  t.is((await mfctl(['openapi', '--url', elsewhere.url, '--cacert', `${clusterFile.replace('cluster', 'public')}`])).code, 5);
});

test('a context that trusts what everybody trusts learns nobody', async t => {
  const {elsewhere, publicNode, mfctl} = await startClaiming(t);
  const login = await mfctl(['login', publicNode.url, '--api-key-file', '-', '-o', 'json'], `mfk_${'0'.repeat(38)}`);
  publicNode.stop();

  const {code} = await mfctl(['domain', 'list']);

  t.deepEqual(JSON.parse(login.stdout).urls, [publicNode.url]);
  t.is(code, 7);
  t.is(elsewhere.requests.length, 0);
});
