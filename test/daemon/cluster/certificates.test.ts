import {X509Certificate} from 'node:crypto';
import {once} from 'node:events';
import {mkdir, readFile, rm, stat, writeFile} from 'node:fs/promises';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {connect, createServer, type PeerCertificate, type TLSSocket} from 'node:tls';
import test, {type ExecutionContext} from 'ava';
import {createAuthority, issueLeaf, type KeyAndCertificate, needsRenewal} from '../../../daemon/cluster/certificates.ts';
import {identityIn, identityUris} from '../../../daemon/cluster/peer-identity.ts';
import {ConfigError} from '../../../daemon/config/load.ts';
import {configSchema} from '../../../daemon/config/schema.ts';
import {dataFolder} from '../../../daemon/data-folder.ts';
import {apiCertificate} from '../../../daemon/tls-files.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {testFolder} from '../../helpers/database.ts';

const dayMs = 24 * 3600 * 1000;
const now = Date.now();

interface Handshake {
  /** What the client said of the server, and the server of the client: an error code, or nothing. */
  clientFault?: string;
  serverSaw: string | undefined;
  server: PeerCertificate;
}

/** One TLS connection between two certificates, each checked against the authority. */
const shakeHands = async (
  t: ExecutionContext,
  {server, client, ca, servername}: {server: KeyAndCertificate; client?: KeyAndCertificate; ca: string; servername: string},
): Promise<Handshake> => {
  let serverSaw: string | undefined;
  const listener = createServer({...server, ca, requestCert: client !== undefined, rejectUnauthorized: false}, socket => {
    serverSaw = socket.authorized ? socket.getPeerCertificate().subjectaltname : String(socket.authorizationError);
    socket.on('error', () => {}).end('hello');
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => listener.close());
  const socket: TLSSocket = connect({
    ...client,
    ca,
    servername,
    host: '127.0.0.1',
    port: (listener.address() as AddressInfo).port,
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  const answer = {
    server: socket.getPeerCertificate(),
    ...(!socket.authorized && {clientFault: String(socket.authorizationError)}),
  };
  await once(socket, 'data');
  socket.destroy();
  return {...answer, serverSaw};
};

test('a leaf is verified by TLS against the authority, by every name it is for and no other', async t => {
  const authority = await createAuthority(now);
  const hosts = ['mx1.example.com', 'localhost', '127.0.0.1', '::1'];
  const leaf = await issueLeaf(authority, {commonName: 'mx1.example.com', hosts}, now);

  const good = await shakeHands(t, {server: leaf, ca: authority.cert, servername: 'mx1.example.com'});
  const other = await shakeHands(t, {server: leaf, ca: authority.cert, servername: 'mx2.example.com'});

  t.is(good.clientFault, undefined);
  t.regex(other.clientFault ?? '', /altnames|ALTNAME/i);
  t.is(good.server.subjectaltname, 'DNS:mx1.example.com, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
});

test('a leaf of another authority is not verified', async t => {
  const [authority, stranger] = [await createAuthority(now), await createAuthority(now)];
  const leaf = await issueLeaf(stranger, {commonName: 'a.test', hosts: ['a.test']}, now);

  const {clientFault} = await shakeHands(t, {server: leaf, ca: authority.cert, servername: 'a.test'});

  t.truthy(clientFault);
});

test('between nodes a leaf proves at both ends which node it is', async t => {
  const authority = await createAuthority(now);
  const leafOf = async (nodeId: string) =>
    issueLeaf(authority, {commonName: nodeId, hosts: [`${nodeId}.test`], uris: identityUris({nodeId, nodeNo: 1})}, now);

  const {clientFault, serverSaw, server} = await shakeHands(t, {
    server: await leafOf('alpha'),
    client: await leafOf('beta'),
    ca: authority.cert,
    servername: 'alpha.test',
  });

  t.is(clientFault, undefined);
  t.deepEqual(identityIn(serverSaw), {nodeId: 'beta', nodeNo: 1});
  t.deepEqual(identityIn(server.subjectaltname), {nodeId: 'alpha', nodeNo: 1});
});

test('a leaf that is for no node proves nothing as a client', async t => {
  const authority = await createAuthority(now);
  const leaf = await issueLeaf(authority, {commonName: 'a.test', hosts: ['a.test']}, now);

  const {serverSaw} = await shakeHands(t, {server: leaf, client: leaf, ca: authority.cert, servername: 'a.test'});

  t.is(serverSaw, 'INVALID_PURPOSE');
  t.is(identityIn(undefined), undefined);
});

test('a leaf cannot sign another', async t => {
  const authority = await createAuthority(now);
  const leaf = await issueLeaf(authority, {commonName: 'a.test', hosts: ['a.test']}, now);
  const forged = await issueLeaf(
    leaf,
    {commonName: 'b.test', hosts: ['b.test'], uris: identityUris({nodeId: 'b', nodeNo: 1})},
    now,
  );

  const chained = {key: forged.key, cert: `${forged.cert}\n${leaf.cert}`};
  const {clientFault} = await shakeHands(t, {server: chained, ca: authority.cert, servername: 'b.test'});

  t.truthy(clientFault);
});

test('an authority is a CA for 20 years, a leaf is none for 90 days, and no two serial numbers are alike', async t => {
  const authority = await createAuthority(now);
  const leaf = await issueLeaf(authority, {commonName: 'x', hosts: ['x.test']}, now);
  const [ca, one] = [new X509Certificate(authority.cert), new X509Certificate(leaf.cert)];

  t.true(ca.ca);
  t.false(one.ca);
  t.true(one.checkIssued(ca));
  t.true(Date.parse(ca.validTo) > now + 19 * 365 * dayMs);
  t.is(Math.round((Date.parse(one.validTo) - now) / dayMs), 90);
  t.true(Date.parse(one.validFrom) <= now - dayMs + 1000);
  t.not(ca.serialNumber, one.serialNumber);
});

test('a name that is no plain host name does not break out of the subject', async t => {
  const authority = await createAuthority(now);
  const hosts = ['x.test'];

  const leaf = await issueLeaf(authority, {commonName: `a,O=evil\n${'b'.repeat(100)}`, hosts}, now);

  t.is(new X509Certificate(leaf.cert).subject, `CN=a-O-evil-${'b'.repeat(55)}`);
});

test('a leaf wants renewal after two thirds of its life, or when a host is added', async t => {
  const authority = await createAuthority(now);
  const {cert} = await issueLeaf(authority, {commonName: 'a.test', hosts: ['a.test', '::1']}, now);
  const twoThirds = now - dayMs + (91 * dayMs * 2) / 3;

  t.false(needsRenewal(cert, ['a.test', '::1'], now));
  t.false(needsRenewal(cert, ['a.test'], twoThirds - 60_000));
  t.true(needsRenewal(cert, ['a.test'], twoThirds + 60_000));
  t.true(needsRenewal(cert, ['a.test', 'b.test'], now));
});

const arrangeFolder = async (t: ExecutionContext) => {
  const folder = dataFolder(await testFolder(t));
  await mkdir(folder.tls);
  const authority = await createAuthority(now);
  await writeFile(folder.caKey, authority.key);
  await writeFile(folder.caCert, authority.cert);
  return {folder, authority, config: configSchema.parse({fqdn: 'mx1.example.com', api: {listen: '192.0.2.7:8443'}})};
};

test('a node’s own certificate is made once, for all its names, and its key is for the owner only', async t => {
  const {folder, config} = await arrangeFolder(t);

  const first = await apiCertificate(folder, config, now);
  const second = await apiCertificate(folder, config, now + 30 * dayMs);

  t.deepEqual(second, first);
  t.is((await stat(folder.apiKey)).mode & 0o777, 0o600);
  const {subjectAltName} = new X509Certificate(first.cert);
  for (const name of ['DNS:mx1.example.com', 'DNS:localhost', 'IP Address:127.0.0.1', 'IP Address:192.0.2.7'])
    t.true(subjectAltName?.includes(name), name);
});

test('a node’s own certificate is renewed at two thirds of its life, when its names change, and when a file is gone', async t => {
  const {folder, config} = await arrangeFolder(t);
  const first = await apiCertificate(folder, config, now);

  const renewed = await apiCertificate(folder, config, now + 61 * dayMs);
  const renamed = await apiCertificate(folder, {...config, fqdn: 'mx2.example.com'}, now + 61 * dayMs);
  await rm(folder.apiKey);
  const remade = await apiCertificate(folder, {...config, fqdn: 'mx2.example.com'}, now + 61 * dayMs);

  t.is(new Set([first, renewed, renamed, remade].map(({cert}) => cert)).size, 4);
  t.is(await readFile(folder.apiCert, 'utf8'), remade.cert);
  t.is((await stat(folder.apiKey)).mode & 0o777, 0o600);
});

test('the operator’s own certificate is used as it is; one that does not fit its key, or is missing, is a fault of the configuration', async t => {
  const {folder, config} = await arrangeFolder(t);
  const [own, other] = [await selfSigned('own.test'), await selfSigned('other.test')];
  const [certFile, keyFile, otherKey] = ['c.pem', 'k.pem', 'o.pem'].map(name => join(folder.root, name));
  await writeFile(certFile ?? '', own.cert);
  await writeFile(keyFile ?? '', own.key);
  await writeFile(otherKey ?? '', other.key);
  const using = (cert_file = '', key_file = '') => ({...config, api: {...config.api, cert_file, key_file}});

  t.deepEqual(await apiCertificate(folder, using(certFile, keyFile), now), own);
  await t.throwsAsync(apiCertificate(folder, using(certFile, otherKey), now), {
    instanceOf: ConfigError,
    message: /api\.cert_file/,
  });
  await t.throwsAsync(apiCertificate(folder, using(join(folder.root, 'gone'), keyFile), now), {
    instanceOf: ConfigError,
    message: /gone does not exist/,
  });
});
