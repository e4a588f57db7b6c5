// SPF (RFC 7208), by mailauth.
import type {SpfResult} from '../../../shared/mail-authentication.ts';
import type {Lookup} from '../lookup.ts';
import {loadMailauth} from './mailauth.ts';

export interface SpfQuestion {
  /** Of the client, without a prefix or a zone. */
  ip: string;
  helo: string;
  /** Empty for a bounce: then the greeting counts. */
  sender: string;
  /** The name of this host. */
  mta: string;
}

export type CheckSender = (question: SpfQuestion, lookup: Lookup) => Promise<SpfResult>;

export const checkSender: CheckSender = async (question, lookup) => {
  const {ip, mta} = question;
  const helo = question.helo.slice(0, maxHeloChars);
  const {spf} = await loadMailauth();
  const identity = identityOf(question);
  const domain = spfDomain(question);
  const {status} = await spf({
    ip,
    helo,
    sender: identity.slice(0, identity.lastIndexOf('@') + 1) + withoutUnderscores(domain),
    mta,
    resolver: bounded(domain.includes('_') ? withUnderscores(lookup) : lookup) as never,
    // Otherwise mailauth evaluates records that have errors of syntax, up to the first term that matches.
    strict: true,
  });
  return status.result as SpfResult;
};

const identityOf = ({helo, sender}: SpfQuestion): string => (sender === '' ? `postmaster@${helo}` : sender);

/** The domain whose record is evaluated. */
export const spfDomain = (question: SpfQuestion): string => {
  const identity = identityOf(question);
  return identity.slice(identity.lastIndexOf('@') + 1).replace(/\.$/, '');
};

/**
 * mailauth says `none` for a domain with an underscore, which DNS and mail servers accept. It gets another one, and the
 * underscores are put back into the names that it asks for, which macros make from that domain.
 */
const standIn = 'z--0--z';

const withoutUnderscores = (name: string): string => name.replaceAll('_', standIn);

const withUnderscores =
  (lookup: Lookup): Lookup =>
  async (name, type) => {
    const records = await lookup(name.replaceAll(standIn, '_'), type);
    return type === 'PTR' ? records.map(host => withoutUnderscores(String(host))) : records;
  };

/**
 * Far above the longest in use, and above what has most macros. mailauth writes each of them out, in up to eleven records for one mail,
 * whether or not a name may be that long.
 */
const maxRecordChars = 4096;
const maxMacros = 100;

/** As a domain (RFC 5321 section 4.5.3.1.2). A client may greet with thousands. */
const maxHeloChars = 255;

/** A text with more is cut to its version, with a mark that is not a term. */
const bounded =
  (lookup: Lookup): Lookup =>
  async (name, type) => {
    const records = await lookup(name, type);
    if (type !== 'TXT') return records;
    return records.map(strings => {
      const text = [strings].flat().join('');
      const isTooMuch = text.length > maxRecordChars || text.split('%{').length > maxMacros;
      return [isTooMuch ? `${text.slice(0, 'v=spf1 '.length)}!` : text];
    });
  };
