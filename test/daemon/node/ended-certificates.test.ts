// Expired client certificates on the cluster port, and connections that outlive their certificate.
import 'reflect-metadata';
import {webcrypto} from 'node:crypto';
import {Agent, request} from 'node:https';
import * as x509 from '@peculiar/x509';
import test, {type ExecutionContext} from 'ava';
import pino from 'pino';
import {createAuthority, issueLeaf, type KeyAndCertificate} from '../../../daemon/cluster/certificates.ts';
import {identityIn, identityUris} from '../../../daemon/cluster/peer-identity.ts';
import {reply} from '../../../daemon/http/answer.ts';
import {createPeerApi} from '../../../daemon/http/peer/peer-app.ts';
import {listenMutualTls} from '../../../daemon/node/listen.ts';
import {validityOf} from '../../../daemon/services/cluster/certificate-names.ts';
import {eventually} from '../../helpers/eventually.ts';
import {useMovedClock} from '../../helpers/moved-clock.ts';

const dayMs = 24 * 3600 * 1000;
/** Certificates are valid for 90 days. */
const endedAgo = (days: number) => Date.now() - (90 + days) * dayMs;
const beta = {nodeId: 'beta', nodeNo: 2};
const gamma = {nodeId: 'gamma', nodeNo: 3};

const leafOf = async (authority: KeyAndCertificate, identity: typeof beta, issuedAtMs: number) =>
  issueLeaf(authority, {commonName: identity.nodeId, hosts: ['localhost'], uris: identityUris(identity)}, issuedAtMs);

/** A cluster port with beta as a member; gamma was removed. */
const arrange = async (t: ExecutionContext, {caMadeAtMs = Date.now() - 1000 * dayMs, ownMadeAtMs = Date.now()} = {}) => {
  const authority = await createAuthority(caMadeAtMs);
  const answered: string[] = [];
  let letAnswer = () => {};
  const mayAnswer = new Promise<void>(resolve => {
    letAnswer = resolve;
  });
  const isMember = ({nodeId, nodeNo}: typeof beta) => nodeId === beta.nodeId && nodeNo === beta.nodeNo;
  const wasRemoved = ({nodeNo}: typeof beta) => nodeNo === gamma.nodeNo;
  const api = createPeerApi({
    identityIn,
    isMember,
    wasRemoved,
    noteAddress: () => {},
    routes: [
      router =>
        void router.all(/.*/, async ctx => {
          answered.push(`${ctx.method} ${ctx.path.replace('/peer/v1/', '')}`);
          if (ctx.path.endsWith('/slow')) await mayAnswer;
          reply(ctx, null);
        }),
    ],
    openRoutes: [],
    log: pino({level: 'silent'}),
  });
  const own = await leafOf(authority, {nodeId: 'alpha', nodeNo: 1}, ownMadeAtMs);
  const listener = await listenMutualTls(
    {host: '127.0.0.1', port: 0},
    {
      ...own,
      ca: authority.cert,
      admits({subjectAltName, endMs}) {
        const shown = identityIn(subjectAltName);
        return shown !== undefined && isMember(shown) && validityOf({endMs}, Date.now()) !== 'outdated';
      },
      trusts: () => false,
      mayGetReason: ({subjectAltName}) => wasRemoved(identityIn(subjectAltName) ?? beta),
    },
    api.callback(),
  );
  t.teardown(async () => listener.stop(0));

  const agentFor = (shown: KeyAndCertificate | undefined) => {
    // The client does not check the server here.
    const agent = new Agent({...shown, keepAlive: true, maxSockets: 1, rejectUnauthorized: false});
    t.teardown(() => agent.destroy());
    return agent;
  };
  /** The status and the error's code and detail, or `closed`. */
  const ask = async (agent: Agent, method: string, path: string): Promise<string> =>
    new Promise(resolve => {
      const sent = request(
        {host: '127.0.0.1', port: listener.address.port, agent, method, path: `/peer/v1/${path}`},
        response => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const {error} = JSON.parse(Buffer.concat(chunks).toString()) as {error: {code: string; detail: string} | null};
            resolve(`${response.statusCode}${error ? ` ${error.code}: ${error.detail}` : ''}`);
          });
        },
      );
      sent.on('error', () => resolve('closed'));
      sent.end();
    });
  return {
    authority,
    listener,
    answered,
    /** Lets the requests to `slow` be answered. */
    letAnswer,
    agentFor,
    ask,
    askAs: async (shown: KeyAndCertificate | undefined, method: string, path: string) => ask(agentFor(shown), method, path),
  };
};

test.serial('a certificate that has ended is good to ask for a new one, and for nothing else', async t => {
  const {authority, answered, askAs} = await arrange(t);

  for (const days of [0.01, 200, 365]) {
    const ended = await leafOf(authority, beta, endedAgo(days));
    t.is(await askAs(ended, 'POST', 'certificates'), '200', `${days}`);
    for (const [method, path] of [
      ['POST', 'heartbeat'],
      ['GET', 'certificates'],
      ['PUT', 'certificates'],
      ['POST', 'certificates/'],
      ['POST', 'CERTIFICATES'],
      ['POST', 'certificates/../events'],
      ['POST', 'tokens'],
      ['GET', ''],
    ] as const)
      t.regex(
        await askAs(ended, method, path),
        /^403 insufficient_scope: the client certificate expired at 20/,
        `${method} ${path}`,
      );
  }

  t.is(await askAs(await leafOf(authority, beta, Date.now()), 'POST', 'heartbeat'), '200');
  t.deepEqual(answered, [...Array(3).fill('POST certificates'), 'POST heartbeat']);
});

test.serial(
  'one that ended more than a year ago, or is of no member, is good for nothing; who was removed is told so',
  async t => {
    const {authority, answered, askAs} = await arrange(t);
    const renewedNumber = await leafOf(authority, {nodeId: 'beta', nodeNo: 4}, endedAgo(10));
    const otherName = await leafOf(authority, {nodeId: 'delta', nodeNo: 2}, endedAgo(10));
    const nameless = await issueLeaf(
      authority,
      {commonName: 'x', hosts: ['localhost'], uris: ['urn:mfd:join:1f0e']},
      endedAgo(10),
    );

    for (const shown of [await leafOf(authority, beta, endedAgo(367)), renewedNumber, otherName, nameless, undefined])
      t.is(await askAs(shown, 'POST', 'certificates'), 'closed');
    const removed = await askAs(await leafOf(authority, gamma, endedAgo(10)), 'POST', 'certificates');

    t.regex(removed, /^403 node_removed: /);
    t.deepEqual(answered, []);
  },
);

/** Like the certificates of `issueLeaf`, except for `differs`. */
const oddLeaf = async (
  authority: KeyAndCertificate,
  differs: Partial<x509.X509CertificateCreateParams> & {extensions?: x509.Extension[]},
): Promise<KeyAndCertificate> => {
  x509.cryptoProvider.set(webcrypto as never);
  const algorithm = {name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256'};
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const [, base64 = ''] = /-----BEGIN PRIVATE KEY-----([\s\S]+)-----END/.exec(authority.key) ?? [];
  const signingKey = await webcrypto.subtle.importKey('pkcs8', Buffer.from(base64, 'base64'), algorithm, false, ['sign']);
  const cert = await x509.X509CertificateGenerator.create({
    subject: 'CN=beta',
    issuer: new x509.X509Certificate(authority.cert).subject,
    notBefore: new Date(endedAgo(10)),
    notAfter: new Date(Date.now() - 10 * dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    ...differs,
    extensions: [
      new x509.SubjectAlternativeNameExtension(identityUris(beta).map(value => ({type: 'url' as const, value}))),
      ...(differs.extensions ?? [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])]),
    ],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {key: `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`, cert: cert.toString('pem')};
};

test.serial('that a certificate has ended hides nothing else that is wrong with it', async t => {
  const {authority, answered, askAs} = await arrange(t);
  const {subject} = new x509.X509Certificate(authority.cert);
  const stranger = await createAuthority(Date.now() - 1000 * dayMs);
  const {clientAuth, serverAuth} = x509.ExtendedKeyUsage;
  const odd: Record<string, KeyAndCertificate> = {
    'of another authority': await leafOf(stranger, beta, endedAgo(10)),
    'signed by another key, in the name of this authority': await oddLeaf(stranger, {issuer: subject}),
    'for servers': await oddLeaf(authority, {extensions: [new x509.ExtendedKeyUsageExtension([serverAuth])]}),
    'for nobody knows what': await oddLeaf(authority, {extensions: []}),
    'an authority itself': await oddLeaf(authority, {
      extensions: [new x509.BasicConstraintsExtension(true, undefined, true), new x509.ExtendedKeyUsageExtension([clientAuth])],
    }),
    'of nobody but itself': await oddLeaf(stranger, {issuer: 'CN=beta'}),
  };

  const critical = new x509.Extension('1.3.6.1.4.1.99999.1', true, Buffer.from('0500', 'hex'));
  odd['not ended, with what nobody understands'] = await oddLeaf(authority, {
    notAfter: new Date(Date.now() + dayMs),
    extensions: [new x509.ExtendedKeyUsageExtension([clientAuth]), critical],
  });

  for (const [what, shown] of Object.entries(odd)) t.is(await askAs(shown, 'POST', 'certificates'), 'closed', what);
  t.is(await askAs(await oddLeaf(authority, {}), 'POST', 'certificates'), '200');
  t.deepEqual(answered, ['POST certificates']);
});

test.serial('under an authority that has ended itself nothing can be renewed', async t => {
  const {authority, answered, askAs} = await arrange(t, {caMadeAtMs: Date.now() - 21 * 365 * dayMs});

  t.is(await askAs(await leafOf(authority, beta, endedAgo(10)), 'POST', 'certificates'), 'closed');
  t.deepEqual(answered, []);
});

test.serial('a connection that outlives the certificate of the client carries no request any more but for a new one', async t => {
  const {authority, answered, agentFor, ask} = await arrange(t, {ownMadeAtMs: Date.now() + dayMs / 2});
  const moveClock = useMovedClock(t);
  const client = await leafOf(authority, beta, Date.now());
  const [agent, renewing] = [agentFor(client), agentFor(client)];
  const before = [await ask(agent, 'POST', 'heartbeat'), await ask(renewing, 'POST', 'heartbeat')];
  const [socket] = Object.values(renewing.freeSockets).flat();

  moveClock(90 * dayMs + 1000);
  const after = await ask(agent, 'POST', 'heartbeat');
  const renewal = await ask(renewing, 'POST', 'certificates');

  t.deepEqual([...before, renewal], ['200', '200', '200']);
  t.regex(after, /^403 insufficient_scope: the client certificate expired/);
  t.is(Object.values(renewing.freeSockets).flat()[0], socket);
  t.deepEqual(answered, ['POST heartbeat', 'POST heartbeat', 'POST certificates']);
});

test.serial('a connection that outlives the certificate of the server carries no request any more, and is closed', async t => {
  const {authority, listener, answered, letAnswer, agentFor, ask} = await arrange(t);
  const moveClock = useMovedClock(t);
  // The client's own certificate expires later.
  const client = await leafOf(authority, beta, Date.now() + dayMs / 2);
  const [agent, idle] = [agentFor(client), agentFor(client)];
  const before = [await ask(agent, 'POST', 'heartbeat'), await ask(idle, 'POST', 'heartbeat')];
  const [unused] = Object.values(idle.freeSockets).flat();
  const underWay = ask(agentFor(client), 'POST', 'slow');
  await eventually(() => answered.includes('POST slow'));

  moveClock(90 * dayMs + 1000);
  const after = await ask(agent, 'POST', 'heartbeat');
  listener.expel();
  letAnswer();

  t.deepEqual([...before, await underWay, after], ['200', '200', '200', 'closed']);
  t.is(answered.length, 3);
  moveClock(120_000);
  listener.expel();
  t.truthy(await eventually(() => unused?.destroyed));
});
