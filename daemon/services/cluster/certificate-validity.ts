// What the certificate of a node is good for at a time. A node that was switched off for long, or whose authority was away, is left with
// one that has ended: that has to be enough to get a new one, and for nothing else.

/** What a peer has shown, once the authority is known to vouch for it. */
export interface ShownCertificate {
  subjectAltName: string | undefined;
  /** Milliseconds since 1970. */
  endMs: number;
}

/** `ended`: it still proves who asks for a new one. `outdated`: it is good for nothing. */
export type Validity = 'valid' | 'ended' | 'outdated';

const renewableMs = 366 * 24 * 3600 * 1000;

export const validityOf = ({endMs}: Pick<ShownCertificate, 'endMs'>, nowMs: number): Validity => {
  if (nowMs < endMs) return 'valid';
  return nowMs < endMs + renewableMs ? 'ended' : 'outdated';
};
