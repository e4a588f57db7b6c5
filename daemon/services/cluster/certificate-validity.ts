// Validity of a node's certificate. A node that was off for long, or whose authority was away, has only an expired certificate. With
// that it can request a new certificate, and nothing else.

/** The certificate that a peer has presented, after its signature was verified. */
export interface ShownCertificate {
  subjectAltName: string | undefined;
  /** Milliseconds since 1970. */
  endMs: number;
}

/** `ended`: expired, but accepted to request a new certificate. `outdated`: not accepted at all. */
export type Validity = 'valid' | 'ended' | 'outdated';

const renewableMs = 366 * 24 * 3600 * 1000;

export const validityOf = ({endMs}: Pick<ShownCertificate, 'endMs'>, nowMs: number): Validity => {
  if (nowMs < endMs) return 'valid';
  return nowMs < endMs + renewableMs ? 'ended' : 'outdated';
};
