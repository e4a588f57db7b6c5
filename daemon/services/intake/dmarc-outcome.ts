// Outcome of DMARC for one mail, and the policy behind it (RFC 9989 section 4.7).
import type {DmarcPolicy, DmarcResult} from '../../../shared/mail-authentication.ts';

export interface DmarcRecord {
  p: DmarcPolicy;
  /** For subdomains; undefined without a tag of its own. */
  sp: DmarcPolicy | undefined;
  /** For subdomains that do not exist. */
  np: DmarcPolicy | undefined;
  /** Whether the signing domain must equal the author domain. */
  isDkimStrict: boolean;
  isSpfStrict: boolean;
  /** `y`: the domain is a public suffix. `n`: it is an organizational domain. `u`: unknown. */
  psd: 'y' | 'n' | 'u';
  /** Asks for the policy one level below. */
  isTesting: boolean;
  /** Addresses for aggregate reports, from `mailto:` URIs without parameters. */
  reportTo: string[];
  /** Options of failure reports as published; they are only repeated in aggregate reports. */
  fo: string | undefined;
}

export interface PublishedPolicy {
  /** The policy domain: where the record was found. */
  domain: string;
  record: DmarcRecord;
}

/** A mechanism that may authenticate the author. */
export type Mechanism = 'spf' | 'dkim';

export interface DmarcOutcome {
  result: DmarcResult;
  /** The policy for mail that fails; undefined when the domain has none, or when it is unknown. */
  policy?: DmarcPolicy;
  /** Where the policy was found. */
  published?: PublishedPolicy;
  /** The author domain; undefined when the mail has none, or several. */
  author?: string | undefined;
  /** Which mechanisms have an aligned identifier that is authenticated. */
  aligned: readonly Mechanism[];
}
