// The EHLO keyword by which the nodes of one cluster know each other: a domain's backend must be none of them, or a mail goes in
// circles, and leaves with the trust, or the signature, that one node has for another.
import {createHash, X509Certificate} from 'node:crypto';

/** Hashed along, so that the keyword says nothing of the fingerprint, which join tokens carry. */
const label = 'mfd: EHLO keyword of a cluster\n';

/** `ca`: the certificate of the cluster's authority, PEM. Everybody may know the keyword. */
export const clusterKeyword = (ca: string): string => {
  const {fingerprint256} = new X509Certificate(ca);
  const digest = createHash('sha256').update(label).update(fingerprint256).digest('hex');
  return `X-MFD-${digest.slice(0, 16)}`;
};

/** Whether an answer to EHLO, of several lines with their codes, has the keyword (RFC 5321 section 4.1.1.1; its case does not matter). */
export const hasKeyword = (answer: string, keyword: string): boolean =>
  answer.split(/\r?\n/).some(line => /^\d{3}[ -](\S+)/.exec(line)?.[1]?.toUpperCase() === keyword.toUpperCase());
