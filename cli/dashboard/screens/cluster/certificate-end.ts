// End of a server certificate, read by a TLS handshake without a request or a key.
import {inspectServer} from '../../../client/server-certificate.ts';
import {asCliError} from '../../../errors.ts';

export interface CertificateEnd {
  /** Undefined when it could not be read. */
  endsAtMs: number | undefined;
  /** Why it could not be read, or is not trusted. */
  problem: string | undefined;
}

const deadlineMs = 4000;

/** Never rejects. `ca` is PEM; undefined trusts what Node trusts. */
export const readCertificateEnd = async (apiUrl: string, ca: string | undefined): Promise<CertificateEnd> => {
  const url = URL.canParse(apiUrl) ? new URL(apiUrl) : undefined;
  if (url?.protocol !== 'https:') return unread('its address is no https address');
  try {
    const {leaf, distrust} = await inspectServer(url, ca, deadlineMs);
    // The end of an expired certificate says why it is not trusted.
    return {endsAtMs: Date.parse(leaf.validTo), problem: distrust === 'CERT_HAS_EXPIRED' ? undefined : distrust};
  } catch (error) {
    const {cause, detail} = asCliError(error);
    const {code = detail} = (cause ?? {}) as NodeJS.ErrnoException;
    return unread(code === 'ETIMEDOUT' ? 'no answer in time' : code);
  }
};

const unread = (problem: string): CertificateEnd => ({endsAtMs: undefined, problem});
