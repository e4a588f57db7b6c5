// Domains of the authors of a mail: those of the addresses in From.
import {addressParser} from 'postal-mime';
import {owningDomain} from '../../../shared/mail-address.ts';
import {headerValues, unfoldHeader} from '../../services/intake/header-block.ts';
import type {HeaderField} from '../../services/intake/mail.ts';

export interface Authors {
  /** Canonical; ten at most. */
  domains: string[];
  /** Whether all programs agree on the one domain: there is one field, with addresses of one domain. */
  isOne: boolean;
}

const maxDomains = 10;
/** Of a longer field the end may be cut by one program and shown by another. */
const maxFieldChars = 8192;

export const authorsOf = (headers: readonly HeaderField[]): Authors => {
  const fields = headerValues(headers, 'from');
  const addresses = fields
    .slice(0, maxDomains)
    .flatMap(field => addressParser(unfoldHeader(field.slice(0, maxFieldChars)), {flatten: true}))
    .map(({address}) => owningDomain(address ?? ''));
  const domains = [...new Set(addresses)];
  const known = domains.filter(domain => domain !== undefined).slice(0, maxDomains);
  const isOne = fields.length === 1 && domains.length === 1 && known.length === 1 && (fields[0]?.length ?? 0) <= maxFieldChars;
  return {domains: known, isOne};
};
