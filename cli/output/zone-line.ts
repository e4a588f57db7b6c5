import type {DkimKey} from '../../shared/dkim-key.ts';

/** The record as a line of a zone file. A string in it holds 255 bytes at most (RFC 1035 section 3.3); resolvers join them. */
export const zoneLine = ({dns_name, dns_record}: Pick<DkimKey, 'dns_name' | 'dns_record'>): string => {
  const strings = dns_record.match(/.{1,255}/g) ?? [''];
  return `${dns_name}. IN TXT ${strings.map(text => `"${text.replace(/["\\]/g, '\\$&')}"`).join(' ')}`;
};
