// Certificate of the server at an address. Only a handshake is sent, and nothing is trusted: the caller decides.
import {X509Certificate} from 'node:crypto';
import {isIP} from 'node:net';
import {checkServerIdentity, connect, type DetailedPeerCertificate, type TLSSocket} from 'node:tls';
import {CliError} from '../errors.ts';
import {connectionFailure, isNodeCertificate, nodePortFailure} from './request-failure.ts';
import {trusting} from './trust.ts';

export interface ServerCertificate {
  leaf: X509Certificate;
  /** The topmost certificate of the chain that the server sent; the leaf itself when it sent no other. */
  anchor: X509Certificate;
  /** Node's code for why the system, or the given CA, does not trust it for this name and time; undefined when it does. */
  distrust: string | undefined;
  /** The address is among the names of the leaf. */
  isNamed: boolean;
}

/** `ca` in PEM; undefined is what Node trusts. Rejects with a CliError when the TLS handshake fails, or takes too long. */
export const inspectServer = async (url: URL, ca: string | undefined, deadlineMs = 10_000): Promise<ServerCertificate> => {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const socket = connect({
    host,
    port: Number(url.port || 443),
    // The certificate is only inspected. No key is sent here.
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(host) === 0 && {servername: host}),
    ...trusting(ca),
  });
  try {
    await handshake(socket, deadlineMs);
    const shown = socket.getPeerCertificate(true);
    const leaf = new X509Certificate(shown.raw);
    if (isNodeCertificate(leaf.subjectAltName)) throw nodePortFailure(url);
    return {
      leaf,
      anchor: topOf(leaf, shown),
      distrust: socket.authorized ? undefined : codeOf(socket.authorizationError),
      isNamed: checkServerIdentity(host, shown) === undefined,
    };
  } catch (error) {
    throw error instanceof CliError ? error : connectionFailure(error, url);
  } finally {
    socket.destroy();
  }
};

const handshake = (socket: TLSSocket, deadlineMs: number): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(Object.assign(new Error('no handshake'), {code: 'ETIMEDOUT'})), deadlineMs);
    socket.once('secureConnect', resolve);
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(Object.assign(new Error('closed during the handshake'), {code: 'ECONNRESET'}));
    });
  });

/** Node returns the code as a string, in spite of its types. */
const codeOf = (error: unknown): string =>
  typeof error === 'string' ? error : ((error as NodeJS.ErrnoException | undefined)?.code ?? 'not trusted');

/** Follows the chain as far as each certificate has signed the one below: an unrelated one in the list proves nothing. */
const topOf = (leaf: X509Certificate, shown: DetailedPeerCertificate): X509Certificate => {
  let top = leaf;
  let next: DetailedPeerCertificate | undefined = shown.issuerCertificate;
  while (next && !top.verify(top.publicKey)) {
    const issuer = new X509Certificate(next.raw);
    if (!top.verify(issuer.publicKey)) break;
    top = issuer;
    next = next.issuerCertificate;
  }
  return top;
};
