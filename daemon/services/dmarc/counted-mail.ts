// One received mail in the aggregate report about a domain (RFC 9990 section 3.1.1).
import {plainAddress} from '../../../shared/host-port.ts';
import {domainOf} from '../../../shared/mail-address.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {DmarcOutcome, PublishedPolicy} from '../intake/dmarc-outcome.ts';
import type {Judgement, Ownership, ReceivedMail} from '../intake/mail.ts';

type Disposition = 'none' | 'pass' | 'quarantine' | 'reject';

/** Mails that are equal in all of this are counted together. */
export interface CountedMail {
  /** The UTC day, as 2026-03-01. */
  day: string;
  /** The domain that received the mail. */
  domain: string;
  /** Where the policy was found; empty when DMARC does not apply. */
  policy_domain: string;
  source_ip: string;
  disposition: Disposition;
  dkim_aligned: boolean;
  spf_aligned: boolean;
  details: CountedDetails;
}

interface CountedDetails {
  /** The author domain. */
  header_from: string;
  /** The domain of the envelope sender; empty for a bounce. */
  envelope_from: string;
  dkim: MailAuthentication['dkim'];
  spf: MailAuthentication['spf'];
  /** Why the disposition is not what the policy asks for. */
  override: 'local_policy' | 'policy_test_mode' | 'other' | null;
}

export interface MailCount extends CountedMail {
  /** Equal exactly for equal mails. */
  digest: string;
  count: number;
  /** The policy that applied to the last of these mails, at `seen_at`. */
  policy: PublishedPolicy | null;
  seen_at: string;
}

/** What became of a mail. */
type Outcome = 'relayed' | 'held' | 'rejected' | 'refused';

export interface Received {
  mail: Pick<ReceivedMail, 'client' | 'envelope' | 'receivedAt'>;
  ownership: Pick<Ownership, 'domain'>;
  judgement: Pick<Judgement, 'verified'>;
  outcome: Outcome;
}

/** Undefined for mail that is not reported: of believed clients, and without one author domain. */
export const countedMail = ({
  mail: {client, envelope, receivedAt},
  ownership,
  judgement: {verified},
  outcome,
}: Received): {mail: CountedMail; policy: PublishedPolicy | undefined} | undefined => {
  const author = verified?.dmarc.author;
  if (!verified || author === undefined) return undefined;
  const {results, dmarc} = verified;
  const {disposition, override} = appliedTo(dmarc, outcome);
  return {
    policy: dmarc.published,
    mail: {
      day: receivedAt.toISOString().slice(0, 10),
      domain: ownership.domain.name,
      policy_domain: dmarc.published?.domain ?? '',
      // Without the zone of a link-local address.
      source_ip: plainAddress(client.ip).replace(/%.*/, ''),
      disposition,
      dkim_aligned: dmarc.aligned.includes('dkim'),
      spf_aligned: dmarc.aligned.includes('spf'),
      details: {
        header_from: author,
        envelope_from: domainOf(envelope.sender) ?? '',
        dkim: reportedSignatures(results.dkim),
        spf: results.spf,
        override,
      },
    },
  };
};

/** A mail may have ten, with long names: those that pass, and some more. */
const maxSignatures = 4;
const reportedSignatures = (dkim: CountedDetails['dkim']): CountedDetails['dkim'] =>
  dkim.toSorted((one, other) => Number(other.result === 'pass') - Number(one.result === 'pass')).slice(0, maxSignatures);

/** With a policy of `none` a mail may still be held for what it contains, which is not due to DMARC. */
const appliedTo = (
  {result, policy = 'none', published}: DmarcOutcome,
  outcome: Outcome,
): {disposition: Disposition; override: CountedDetails['override']} => {
  if (result === 'temperror') return {disposition: 'none', override: published ? 'other' : null};
  if (result !== 'fail') return {disposition: result === 'pass' && policy !== 'none' ? 'pass' : 'none', override: null};
  const disposition = policy === 'none' ? 'none' : dispositions[outcome];
  if (disposition !== policy) return {disposition, override: 'local_policy'};
  const isEased = published?.record.isTesting && (policy === 'quarantine' || published.record.p !== 'none');
  return {disposition, override: isEased ? 'policy_test_mode' : null};
};

const dispositions = {relayed: 'none', refused: 'none', held: 'quarantine', rejected: 'reject'} as const;
