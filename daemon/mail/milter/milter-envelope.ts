// Client and envelope of a mail, read from milter commands and their macros.

import {isIP} from 'node:net';
import {plainAddress} from '../../../shared/host-port.ts';
import {owningDomain, parseMailAddress, withoutBrackets} from '../../../shared/mail-address.ts';
import {clientFacts} from '../../services/events/held-event.ts';
import {isSameOwner} from '../../services/intake/intake.ts';
import type {Client, Envelope, Ownership, SmtpReply} from '../../services/intake/mail.ts';
import type {IntakePort} from '../mail-decision.ts';
import type {RefusalLog} from '../refusal-log.ts';
import {replies} from '../smtp-reply.ts';
import {type CommandOf, MilterError} from './milter-codec.ts';

export type Macros = ReadonlyMap<string, string>;

/** The client of Postfix. */
export interface Peer extends Pick<Client, 'ip' | 'hostname'> {
  /** A local program on the host of Postfix that does not use SMTP: `sendmail`, cron. */
  isLocal: boolean;
}

/** Also used for a client without a known address, which must not be trusted. */
const noAddress = '0.0.0.0';

/**
 * Throws MilterError for an invalid address. The name is confirmed: Postfix sends its `client_name`, which is `unknown` unless the
 * name resolves back to the address (postconf(5), reject_unknown_client_hostname; src/smtpd/smtpd_peer.c), and never its
 * `reverse_client_name`, which only the macros `_` and `{client_ptr}` contain (src/smtpd/smtpd_milter.c).
 */
export const peerOf = ({hostname, family, port, address}: CommandOf<'connect'>): Peer => {
  if (family === 'U') return {ip: noAddress, hostname: null, isLocal: false};
  if (family === 'L') return {ip: '127.0.0.1', hostname: null, isLocal: true};

  const ip = plainAddress(address.replace(/^ipv6:/i, ''));
  if (isIP(ip) === 0) throw new MilterError('a client whose address is invalid');
  const isNameless = hostname === 'unknown' || hostname.startsWith('[') || hostname === '';
  // Postfix reports its `pickup` like this; a TCP connection always has a port.
  const isLocal = port === 0 && (ip === '127.0.0.1' || ip === '::1');
  return {ip, hostname: isNameless ? null : hostname.slice(0, 255), isLocal};
};

export interface EnvelopeNeeds {
  isTrusted(ip: string): boolean;
  intake: Pick<IntakePort, 'claim' | 'canTakeMail'>;
  refusals: Pick<RefusalLog, 'record'>;
}

export type MilterEnvelope = ReturnType<typeof createMilterEnvelope>;

/** `session`: facts that hold for all mails of the client. */
export const createMilterEnvelope = (
  {isTrusted, intake, refusals}: EnvelopeNeeds,
  session: {peer: Peer; helo: string; isSecure: boolean},
  {address, parameters, macros}: CommandOf<'mail'> & {macros: Macros},
) => {
  const {peer, helo, isSecure} = session;
  const upper = parameters.map(parameter => parameter.toUpperCase());
  const isUtf8 = upper.includes('SMTPUTF8');
  const isEightBit = upper.includes('BODY=8BITMIME');
  const user = macros.get('{auth_authen}') || null;
  const sender = withoutBrackets(address) === '' ? '' : canonicalAddress(macros.get('{mail_addr}'), address);
  const client: Client = {
    ip: peer.ip,
    hostname: peer.hostname,
    helo: helo.slice(0, 255),
    isTrusted: peer.isLocal || user !== null || isTrusted(peer.ip),
    protocol: `${isUtf8 ? 'UTF8SMTP' : 'ESMTP'}${isSecure ? 'S' : ''}${user === null ? '' : 'A'}`,
    user,
  };
  const recipients = new Set<string>();
  let owner: Ownership | 'foreign' | undefined;

  /** Refuses a mail with our and foreign recipients: the foreign copy must not be filtered or held. */
  const refuseMixedOwners = (next: Ownership | 'foreign'): SmtpReply | undefined => {
    const isSame = next === 'foreign' || owner === 'foreign' ? next === owner : owner === undefined || isSameOwner(owner, next);
    if (owner === undefined || isSame) {
      owner = next;
      return undefined;
    }
    if (!peer.isLocal) return replies.anotherDomain;
    // A local program cannot resend to one recipient only: Postfix would retry the whole mail for ever.
    owner = 'foreign';
    return undefined;
  };

  const judge = (recipient: string): SmtpReply | undefined => {
    if (recipients.has(recipient)) return undefined;

    const claim = intake.claim(client, sender ?? '', recipient);
    if (claim.kind === 'foreign') return refuseMixedOwners('foreign');
    if (claim.kind === 'refused') return claim.reply;
    if (sender === undefined) return replies.badSender;
    if (recipients.size >= maxRecipients) return replies.tooManyRecipients;
    const refusal = intake.canTakeMail() ?? refuseMixedOwners(claim.ownership);
    if (!refusal) recipients.add(recipient);
    return refusal;
  };

  /** The reply that refuses this recipient; undefined accepts it. */
  const rcpt = (command: CommandOf<'rcpt'>, rcptMacros: Macros): SmtpReply | undefined => {
    // Postfix itself refuses this recipient, and only reports it.
    if (rcptMacros.get('{rcpt_mailer}') === 'error') return undefined;
    const recipient = recipientOf(rcptMacros.get('{rcpt_addr}'), command.address);
    const reply = judge(recipient);
    if (reply) refusals.record({client: clientFacts(client), sender: sender ?? withoutBrackets(address), recipient, reply});
    return reply;
  };

  return {
    client,
    /** The sender and the recipients accepted so far. */
    facts: (): Envelope => ({sender: sender ?? '', recipients: [...recipients], isUtf8, isEightBit}),
    /** The owner of the mail. `foreign`: no domain of ours; undefined: there is no recipient yet. */
    owner: () => owner,
    rcpt,
  };
};

/** Postfix has a limit of 1000 unless raised; this one bounds the memory of a connection. */
const maxRecipients = 10_000;

/**
 * Canonical if the address can be parsed. The macro contains it as rewritten by Postfix for its queue, such as `user@its.own.domain` for
 * `user`.
 */
const canonicalAddress = (macro: string | undefined, argument: string): string | undefined => {
  for (const text of [quotedAsNeeded(macro ?? ''), withoutBrackets(argument)]) {
    const address = parseMailAddress(text);
    if (address) return `${address.local}@${address.domain}`;
  }
  return undefined;
};

/**
 * The address in a macro, which lacks quoting. It is not a path: `"@a.test:user"@b.test` comes as `@a.test:user@b.test`, which must not be
 * taken for a source route to another mailbox.
 */
const quotedAsNeeded = (macro: string): string => {
  const at = macro.lastIndexOf('@');
  if (at <= 0 || parseMailAddress(macro)) return macro;
  return `"${macro.slice(0, at).replace(/["\\]/g, '\\$&')}"${macro.slice(at)}`;
};

/** Canonical if the address can be parsed, else unchanged. Postfix may have rewritten it to another owner. */
const recipientOf = (macro: string | undefined, argument: string): string => {
  const queued = macro?.includes('@') ? quotedAsNeeded(macro) : argument;
  const address = canonicalAddress(macro, argument);
  return address !== undefined && owningDomain(address) === owningDomain(queued) ? address : queued;
};
