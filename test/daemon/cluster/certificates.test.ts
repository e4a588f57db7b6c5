import 'reflect-metadata';
import {createPrivateKey, webcrypto, X509Certificate} from 'node:crypto';
import {once} from 'node:events';
import {connect, createServer, type PeerCertificate, type TLSSocket} from 'node:tls';
import {PemConverter, Pkcs10CertificateRequestGenerator} from '@peculiar/x509';
import test, {type ExecutionContext} from 'ava';
import {
  createAuthority,
  createRequest,
  issueLeaf,
  issueRequested,
  issueTicket,
  type KeyAndCertificate,
  needsRenewal,
  ticketKey,
} from '../../../daemon/cluster/certificates.ts';
import {identityIn, identityUris} from '../../../daemon/cluster/peer-identity.ts';
import {Fault} from '../../../shared/fault.ts';
import {listening} from '../../helpers/listening.ts';

const dayMs = 24 * 3600 * 1000;
const now = Date.now();

interface Handshake {
  /** The client's verdict on the server, and the server's on the client: an error code, or nothing. */
  clientFault?: string;
  serverSaw: string | undefined;
  server: PeerCertificate;
}

/** Makes one TLS connection between two certificates, each checked against the authority. */
const shakeHands = async (
  t: ExecutionContext,
  {server, client, ca, servername}: {server: KeyAndCertificate; client?: KeyAndCertificate; ca: string; servername: string},
): Promise<Handshake> => {
  let serverSaw: string | undefined;
  const listener = createServer({...server, ca, requestCert: client !== undefined, rejectUnauthorized: false}, socket => {
    serverSaw = socket.authorized ? socket.getPeerCertificate().subjectaltname : String(socket.authorizationError);
    socket.on('error', () => {}).end('hello');
  });
  const socket: TLSSocket = connect({
    ...client,
    ca,
    servername,
    host: '127.0.0.1',
    port: await listening(t, listener),
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

  t.false(needsRenewal(cert, {hosts: ['a.test', '::1']}, now));
  t.false(needsRenewal(cert, {hosts: ['a.test']}, twoThirds - 60_000));
  t.true(needsRenewal(cert, {hosts: ['a.test']}, twoThirds + 60_000));
  t.true(needsRenewal(cert, {hosts: ['a.test', 'b.test']}, now));
  t.true(needsRenewal(cert, {hosts: ['a.test'], uris: ['urn:x']}, now));
});

test('a leaf is for an address or name however that is spelt', async t => {
  const authority = await createAuthority(now);
  const spellings = ['2001:DB8::1', '2001:db8:0:0:0::2', '::ffff:10.0.0.1', '::FFFF:a00:2', '0:0:0:0:0:0:0:1', 'MX1.Test'];
  const others = ['2001:db8:0::1', '2001:DB8::2', '10.0.0.1', '::ffff:10.0.0.2', '::1', 'mx1.test'];

  const leaf = await issueLeaf(authority, {commonName: 'a.test', hosts: spellings}, now);
  const shown = await shakeHands(t, {server: leaf, ca: authority.cert, servername: 'mx1.test'});

  for (const hosts of [spellings, others]) t.false(needsRenewal(leaf.cert, {hosts}, now), String(hosts));
  t.true(needsRenewal(leaf.cert, {hosts: ['2001:db8::3']}, now));
  t.is(
    shown.server.subjectaltname,
    'IP Address:2001:DB8:0:0:0:0:0:1, IP Address:2001:DB8:0:0:0:0:0:2, IP Address:10.0.0.1, IP Address:10.0.0.2, IP Address:0:0:0:0:0:0:0:1, DNS:mx1.test',
  );
});

test('a requested certificate has the key of the request and the names that were granted, whatever the request says', async t => {
  const authority = await createAuthority(now);
  const {key, request} = await createRequest();

  const cert = await issueRequested(
    authority,
    {request, commonName: 'b', hosts: ['b.test'], uris: identityUris({nodeId: 'b', nodeNo: 2})},
    now,
  );

  const shown = new X509Certificate(cert);
  t.true(shown.checkPrivateKey(createPrivateKey(key)));
  t.true(shown.checkIssued(new X509Certificate(authority.cert)));
  t.is(shown.subjectAltName, 'DNS:b.test, URI:urn:mfd:node:b, URI:urn:mfd:node-no:2');
});

test('a request that is damaged, signed with another key, or for another kind of key gets no certificate', async t => {
  const authority = await createAuthority(now);
  const {request} = await createRequest();
  const der = PemConverter.decodeFirst(request);
  const forged = Buffer.from(der);
  forged[forged.length - 3] = (forged.at(-3) ?? 0) ^ 1;
  const rsa = {name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256'};
  const keys = await webcrypto.subtle.generateKey(rsa, true, ['sign', 'verify']);
  const other = await Pkcs10CertificateRequestGenerator.create({name: 'CN=x', keys, signingAlgorithm: rsa});

  for (const wrong of ['', 'nonsense', PemConverter.encode(forged, 'CERTIFICATE REQUEST'), other.toString('pem'), authority.cert])
    await t.throwsAsync(issueRequested(authority, {request: wrong, commonName: 'b', hosts: ['b.test']}, now), {
      instanceOf: Fault,
      code: 'validation_failed',
    });
});

test('a ticket proves its token id as a client, and is good for no server', async t => {
  const authority = await createAuthority(now);
  const leaf = await issueLeaf(authority, {commonName: 'a.test', hosts: ['a.test']}, now);
  const {seed, certificate} = await issueTicket(authority, {uri: 'urn:mfd:join:abc', endMs: now + dayMs}, now);
  const ticket = {key: ticketKey(seed), cert: new X509Certificate(certificate).toString()};

  const asClient = await shakeHands(t, {server: leaf, client: ticket, ca: authority.cert, servername: 'a.test'});
  const asServer = await shakeHands(t, {server: ticket, ca: authority.cert, servername: 'a.test'});

  t.is(asClient.serverSaw, 'URI:urn:mfd:join:abc');
  t.is(identityIn(asClient.serverSaw), undefined);
  t.is(seed.length, 32);
  t.is(asServer.clientFault, 'INVALID_PURPOSE');
});
