// Check that a mail really comes from the domain of its envelope sender. Separate from the schemas, which mfctl does not load.
import {domainOf} from './mail-address.ts';
import type {MailAuthentication} from './mail-authentication.ts';

/** SPF passed for the domain of the sender, or a signature of that domain or one above it. */
export const isSenderAuthentic = (sender: string, {spf, dkim}: MailAuthentication): boolean => {
  const domain = domainOf(sender);
  if (domain === undefined) return false;
  const isSigner = (signer: string) => domain === signer || domain.endsWith(`.${signer}`);
  return (spf.result === 'pass' && spf.domain === domain) || dkim.some(one => one.result === 'pass' && isSigner(one.domain));
};
