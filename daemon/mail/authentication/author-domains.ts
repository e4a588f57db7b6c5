// Domains of the author of a mail: whose policy it has to meet.
import {isIP, isIPv4} from 'node:net';
import {canonicalMailDomain} from '../../../shared/domain-name.ts';
import {authorValues, readAuthorField} from '../../services/intake/author-field.ts';
import {headerValues} from '../../services/intake/header-block.ts';
import type {HeaderField, ReceivedMail} from '../../services/intake/mail.ts';

export interface Authors {
  /** The domains to look up in DNS, canonical, ten at most: those of the addresses, then those in the text beside them. */
  domains: string[];
  /** The domain of all addresses, and the first of `domains`; undefined when they have none with a policy, or several. */
  domain: string | undefined;
  /** Mail programs may show another author. */
  isUnclear: boolean;
}

const maxDomains = 10;

export const authorsOf = (headers: readonly HeaderField[]): Authors => {
  const values = headerValues(headers, 'from');
  // Several fields are unclear whatever they say.
  const fields = authorValues(values).map(readAuthorField);
  const hosts = new Map(fields.flatMap(({addresses}) => addresses).map(({domain}) => [domain, hostIn(domain)]));
  const own = new Set([...hosts.values()].flatMap(host => (host?.isName ? host.name : [])));
  const mentioned = new Set(fields.flatMap(({mentions}) => mentions));
  const domains = [...new Set([...own, ...[...mentioned].flatMap(text => canonicalMailDomain(text) ?? [])])];
  return {
    domains: domains.slice(0, maxDomains),
    domain: own.size === 1 && [...hosts.values()].every(host => host?.isName) ? domains[0] : undefined,
    isUnclear:
      values.length !== 1 ||
      domains.length > maxDomains ||
      fields.some(({isUnclear}) => isUnclear) ||
      [...hosts.values()].includes(undefined),
  };
};

/**
 * Whether a line that is not a field stands above From. Many servers and programs end the header there: the mail has no author then, and they
 * show what Sender says. The line that begins a mail in a mailbox file does not count.
 */
export const isAuthorHidden = ({headers, strayLines}: Pick<ReceivedMail, 'headers' | 'strayLines'>): boolean => {
  const [first = ''] = strayLines;
  let end = /^>?From /.test(first) && headers[0]?.from === first.length + 2 ? headers[0].from : 0;
  for (const {name, from, to} of headers) {
    if (from !== end) return true;
    if (name.toLowerCase() === 'from') return false;
    end = to;
  }
  return false;
};

/** Undefined for what cannot be in DNS. Not a name: one label, or the address of a host, for which there is no policy. */
const hostIn = (text: string | undefined): {isName: true; name: string} | {isName: false} | undefined => {
  if (text === undefined || isOneLabel.test(text) || isLiteral(text)) return {isName: false};
  const name = canonicalMailDomain(text);
  return name === undefined ? undefined : {isName: true, name};
};

const isOneLabel = /^[\p{L}\p{Nd}\p{M}_-]{1,63}\.?$/u;

/** Old programs leave out the brackets. */
const isLiteral = (text: string): boolean => isIPv4(text) || isIP(/^\[(?:ipv6:)?(.*)\]$/i.exec(text)?.[1] ?? '') !== 0;
