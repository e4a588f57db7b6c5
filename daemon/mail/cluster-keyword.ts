// EHLO keyword by which the nodes of one cluster recognise each other. The backend of a domain must not be a node: its mail would loop,
// and leave with the trust or the signature that one node gives to another.
import {createHash, X509Certificate} from 'node:crypto';

/** Part of the hash, so that the keyword does not reveal the fingerprint, which join tokens contain. */
const label = 'mfd: EHLO keyword of a cluster\n';

/** `ca`: the certificate of the cluster's authority, PEM. The keyword is public. */
export const clusterKeyword = (ca: string): string => {
  const {fingerprint256} = new X509Certificate(ca);
  const digest = createHash('sha256').update(label).update(fingerprint256).digest('hex');
  return `X-MFD-${digest.slice(0, 16)}`;
};

/** Whether an answer to EHLO, given as lines with codes, contains the keyword, in any case (RFC 5321 section 4.1.1.1). */
export const hasKeyword = (answer: string, keyword: string): boolean =>
  answer.split(/\r?\n/).some(line => /^\d{3}[ -](\S+)/.exec(line)?.[1]?.toUpperCase() === keyword.toUpperCase());
