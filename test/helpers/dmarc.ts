// Mail as it is counted for reports, and a cluster of reporters in one process: real stores, and a transport that notes what is sent.
import type {CountedMail, MailCount, Received} from '../../daemon/services/dmarc/counted-mail.ts';
import type {DmarcRecord, PublishedPolicy} from '../../daemon/services/intake/dmarc-outcome.ts';
import type {Domain} from '../../shared/domain.ts';
import type {MailAuthentication} from '../../shared/mail-authentication.ts';
import {receivedMail} from './received-mail.ts';

const record = (fields: Partial<DmarcRecord> = {}): DmarcRecord => ({
  p: 'reject',
  sp: undefined,
  np: undefined,
  isDkimStrict: false,
  isSpfStrict: false,
  psd: 'u',
  isTesting: false,
  reportTo: ['dmarc@bank.test'],
  fo: undefined,
  ...fields,
});

export const policyOf = (domain = 'bank.test', fields: Partial<DmarcRecord> = {}): PublishedPolicy => ({
  domain,
  record: record(fields),
});

const results: MailAuthentication = {
  spf: {result: 'pass', domain: 'bank.test'},
  dkim: [{result: 'pass', domain: 'bank.test', selector: 's1'}],
  dmarc: {result: 'pass', policy: 'reject', domain: 'bank.test'},
  arc: {result: 'none'},
};

interface Parts {
  ip?: string;
  sender?: string;
  recipients?: string[];
  at?: string;
  dmarc?: Partial<NonNullable<Received['judgement']['verified']>['dmarc']>;
  outcome?: Received['outcome'];
  domain?: Partial<Domain>;
}

/** A mail of bank.test that passes, relayed to a domain that reports. */
export const received = ({
  ip = '192.0.2.5',
  sender = 'news@bank.test',
  at = '2026-03-01T10:00:00Z',
  ...parts
}: Parts = {}): Received => {
  const mail = receivedMail({client: {ip}, envelope: {sender, ...(parts.recipients && {recipients: parts.recipients})}});
  return {
    mail: {...mail, receivedAt: new Date(at)},
    ownership: {domain: {name: 'example.com', dmarc_reporting: true, ...parts.domain} as Domain},
    judgement: {
      verified: {
        authorship: 'clear',
        results,
        dmarc: {
          result: 'pass',
          policy: 'reject',
          published: policyOf(),
          author: 'bank.test',
          aligned: ['spf', 'dkim'],
          ...parts.dmarc,
        },
      },
    },
    outcome: parts.outcome ?? 'relayed',
  };
};

export const mailCount = (count: number, fields: Partial<MailCount> = {}): MailCount => {
  const mail: CountedMail = {
    day: '2026-03-01',
    domain: 'example.com',
    policy_domain: 'bank.test',
    source_ip: '192.0.2.5',
    disposition: 'pass',
    dkim_aligned: true,
    spf_aligned: true,
    details: {
      header_from: 'bank.test',
      envelope_from: 'bank.test',
      dkim: results.dkim,
      spf: results.spf,
      override: null,
    },
  };
  const made = {...mail, policy: policyOf(), seen_at: '2026-03-01T10:00:00.000Z', count, ...fields};
  return {...made, digest: fields.digest ?? `${made.policy_domain} ${made.source_ip} ${made.disposition} ${made.domain}`};
};
