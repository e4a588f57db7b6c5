// Addresses of other nodes in the context of a command that read the status of the cluster.
import {chmod, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {parse} from 'yaml';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {clusterStatus, peer} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const statusOf = (...addresses: string[]) =>
  clusterStatus([peer('mx1'), ...addresses.map((api_url, at) => ({...peer(`mx${at + 2}`), api_url}))]);

const others = ['https://127.0.0.1:1002', 'https://mx3.example.com:8443'];

/** A server whose certificate is of an authority of its own, and a context for it, as `mfd init` makes one. */
const arrange = async (t: ExecutionContext, status: Reply['data'] = statusOf(...others), isOwnCa = true) => {
  const ca = await createAuthority(Date.now());
  const leaf = isOwnCa
    ? await issueLeaf(ca, {commonName: 'mx1', hosts: ['localhost']}, Date.now())
    : await selfSigned('localhost');
  const api = await startApi(t, {'GET /cluster/status': {data: status}}, leaf);
  const caFile = join(api.folder, 'cluster.pem');
  await writeFile(caFile, isOwnCa ? ca.cert : leaf.cert);
  await writeFile(join(api.folder, 'key'), 'mfk_test');
  const env = {MFCTL_URL: '', MFCTL_API_KEY: '', MFCTL_CACERT: ''};
  const mfctl = async (...args: string[]) => api.mfctl(args, {env});
  const file = join(api.folder, 'mfctl/config.yaml');
  const urls = async () => parse(await readFile(file, 'utf8')).contexts.mx1?.urls;
  const added = await mfctl(
    ...['context', 'add', 'mx1', '--url', api.url, '--cacert', caFile, '--api-key-file', join(api.folder, 'key')],
  );
  t.is(added.code, 0, added.stderr);
  return {...api, caFile, file, mfctl, urls};
};

for (const command of [
  ['cluster', 'status'],
  ['cluster', 'check'],
])
  test(`${command.join(' ')} adds the addresses of the other nodes to its context, without a word`, async t => {
    const {mfctl, urls, url} = await arrange(t);

    const first = await mfctl(...command);

    t.is(first.code, 0, first.stdout + first.stderr);
    t.deepEqual(await urls(), [url, ...others]);
    t.is(first.stderr, '');
  });

test('addresses that the context has stay, and nothing is written when there is no new one', async t => {
  const {mfctl, urls, url, file} = await arrange(t);
  await mfctl('cluster', 'status');
  const before = await readFile(file, 'utf8');
  await writeFile(file, before.replace(others[1] ?? '', 'https://old.example.com:8443'));

  await mfctl('cluster', 'status');
  t.deepEqual(await urls(), [url, others[0], 'https://old.example.com:8443', others[1]]);

  const kept = await readFile(file, 'utf8');
  await chmod(file, 0o400);
  t.is((await mfctl('cluster', 'status')).code, 0);
  t.is(await readFile(file, 'utf8'), kept);
});

test('a command that fails, and one that reads no status, add nothing', async t => {
  const {mfctl, urls} = await arrange(t, {...statusOf(...others), peers: 'none'});

  t.not((await mfctl('cluster', 'status')).code, 0);
  await mfctl('context', 'list');

  t.is(await urls(), undefined);
});

test('nothing is added with --url, with another CA file, or under a certificate that is no authority of a cluster', async t => {
  const own = await arrange(t);
  const copy = join(own.folder, 'copy.pem');
  await writeFile(copy, await readFile(own.caFile));
  const foreign = await arrange(t, statusOf(...others), false);

  for (const args of [
    ['--url', own.url],
    ['--cacert', copy],
  ])
    t.is((await own.mfctl('cluster', 'status', ...args)).code, 0, args[0]);
  t.is((await foreign.mfctl('cluster', 'status')).code, 0);

  t.is(await own.urls(), undefined);
  t.is(await foreign.urls(), undefined);
});

test('what is no address of an HTTPS server is not added', async t => {
  const {mfctl, urls, url} = await arrange(
    t,
    statusOf('http://a.example.com', 'https://b.example.com/path', 'https://user:pw@c.example.com', 'https://d.example.com'),
  );

  await mfctl('cluster', 'status');

  t.deepEqual(await urls(), [url, 'https://d.example.com']);
});
