// Results of the authentication of a mail for people, and what they mean.
import type {MailAuthentication} from '../../shared/mail-authentication.ts';

/** `SPF pass (example.net), DKIM pass (example.net), DMARC pass (example.net)` */
export const authenticationText = ({spf, dkim, dmarc, arc}: MailAuthentication): string => {
  const policy = dmarc.policy === null ? '' : `policy ${dmarc.policy}, `;
  const parts = [
    `SPF ${spf.result}${of(spf.domain)}`,
    ...(dkim.length === 0 ? ['DKIM none'] : dkim.map(({result, domain}) => `DKIM ${result}${of(domain)}`)),
    `DMARC ${dmarc.result}${of(`${policy}${dmarc.domain}`.replace(/, $/, ''))}`,
    ...(arc.result === 'none' ? [] : [`ARC ${arc.result}`]),
  ];
  return parts.join(', ');
};

const of = (text: string): string => (text === '' ? '' : ` (${text})`);

/** One sentence about what the results say of the sender. */
export const authenticationMeaning = ({spf, dkim, dmarc}: MailAuthentication): string => {
  const {result, policy, domain} = dmarc;
  switch (result) {
    case 'pass':
      return `The mail comes from ${domain}.`;
    case 'fail':
      if (domain === '') return 'It cannot be told from the mail who wrote it.';
      return `The mail does not come from ${domain}${wishes[policy ?? 'none']}.`;
    case 'temperror':
      return 'DNS did not answer, so it is not known who the mail comes from.';
    case 'none': {
      if (domain === '') return 'The address of the author has no domain, so there is no policy to check.';
      const signer = spf.result === 'pass' ? spf.domain : dkim.find(one => one.result === 'pass')?.domain;
      if (signer !== undefined) return `The mail comes from ${signer}; ${domain} has no DMARC policy.`;
      return `It is not known who the mail comes from: ${domain} has no DMARC policy.`;
    }
    default:
      return result satisfies never;
  }
};

const wishes: Record<NonNullable<MailAuthentication['dmarc']['policy']>, string> = {
  none: ', or was changed on its way',
  quarantine: ', which wants such mail held',
  reject: ', which wants such mail refused',
};

export const notVerified = 'no: from a trusted client or a user, or held by an earlier version';
