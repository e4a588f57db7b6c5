import type {Domain} from '../../../shared/domain.ts';
import {domainOf} from '../../../shared/mail-address.ts';
import type {DomainDirectory} from './domain-directory.ts';

/** The domain whose DKIM key signs what this node writes from an address: that of the address, if it signs (RFC 7489 section 3.1.1). */
export const signingDomain = (domains: Pick<DomainDirectory, 'findByName'>, from: string): Domain | undefined => {
  const domain = domains.findByName(domainOf(from)?.toLowerCase() ?? '');
  return domain?.dkim_active ? domain : undefined;
};
