// End of a server certificate, read by a TLS handshake without a request or a key.
import {isIP} from 'node:net';
import {connect} from 'node:tls';
import {trusting} from '../../../client/trust.ts';

export interface CertificateEnd {
  /** Undefined when it could not be read. */
  endsAtMs: number | undefined;
  /** Why it could not be read, or is not trusted. */
  problem: string | undefined;
}

const deadlineMs = 4000;

/** Never rejects. `ca` is PEM; undefined trusts what Node trusts. */
export const readCertificateEnd = (apiUrl: string, ca: string | undefined): Promise<CertificateEnd> => {
  const url = URL.canParse(apiUrl) ? new URL(apiUrl) : undefined;
  if (url?.protocol !== 'https:') return Promise.resolve(unread('its address is no https address'));

  return new Promise(resolve => {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    // It is read and not trusted, as expired certificates are to be shown.
    const socket = connect({
      host,
      port: Number(url.port || 443),
      rejectUnauthorized: false,
      ...(isIP(host) === 0 && {servername: host}),
      ...trusting(ca),
    });
    const timer = setTimeout(() => done(unread('no answer in time')), deadlineMs);
    const done = (end: CertificateEnd): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(end);
    };
    socket.once('error', (error: NodeJS.ErrnoException) => done(unread(error.code ?? error.message)));
    socket.once('secureConnect', () => {
      const endsAtMs = Date.parse(socket.getPeerCertificate().valid_to);
      if (!Number.isFinite(endsAtMs)) return done(unread('it shows none'));
      done({endsAtMs, problem: socket.authorized ? undefined : problemOf(socket.authorizationError)});
    });
  });
};

const unread = (problem: string): CertificateEnd => ({endsAtMs: undefined, problem});

/** Node returns the code as a string here, in spite of its types. */
const problemOf = (error: unknown): string | undefined => {
  const code = typeof error === 'string' ? error : ((error as NodeJS.ErrnoException | undefined)?.code ?? 'not trusted');
  return code === 'CERT_HAS_EXPIRED' ? undefined : code;
};
