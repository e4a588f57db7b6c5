// SMTP replies: those of this node, those of backends in a form that may be passed on, and the keyword that marks a node of this
// cluster.

import {createHash, X509Certificate} from 'node:crypto';
import type {RecipientResult, SmtpReply} from '../services/intake/mail.ts';

/** An enhanced status code at the beginning of a text (RFC 3463). */
const enhancedCode = /^[245]\.\d{1,3}\.\d{1,3}(?= |$)/;

/** RFC 5321 section 4.5.3.1.5: a reply line has at most 512 octets, including code and line end. */
const maxTextLength = 480;

/** Reads a reply of one or several lines; undefined for a text that is not an SMTP reply. */
export const parseReply = (raw: string): SmtpReply | undefined => {
  const lines = raw.split(/\r?\n/).filter(line => line.trim() !== '');
  const code = Number(/^([2-5]\d\d)(?:[ -]|$)/.exec(lines.at(-1) ?? '')?.[1]);
  if (Number.isNaN(code)) return undefined;

  const texts = lines.map(line => line.replace(/^\d{3}[ -]?/, '').trim());
  const enhanced = enhancedCode.exec(texts[0] ?? '')?.[0];
  const rest = texts.map((text, n) =>
    n > 0 && enhanced && text.startsWith(enhanced) ? text.slice(enhanced.length).trim() : text,
  );
  return {code, text: printable(rest.join(' ').trim())};
};

export const isPositive = (reply: SmtpReply): boolean => reply.code >= 200 && reply.code < 300;
export const isPermanent = (reply: SmtpReply): boolean => reply.code >= 500;

export const outcomeOf = (reply: SmtpReply): RecipientResult['outcome'] => {
  if (isPositive(reply)) return 'delivered';
  return isPermanent(reply) ? 'refused' : 'deferred';
};

const hasEnhancedCode = (text: string): boolean => enhancedCode.test(text);

/** A refusal of a backend in the form for the client: with an enhanced code, and never one that ends the client's session. */
export const passedOn = ({server, ...reply}: SmtpReply): SmtpReply => {
  const isRefusal = reply.code >= 400 && reply.code !== 421;
  const code = isRefusal ? reply.code : 451;
  const kind = String(code).charAt(0);
  const text = reply.text.startsWith(`${kind}.`) && hasEnhancedCode(reply.text) ? reply.text : `${kind}.0.0 ${reply.text}`.trim();
  return {code, text, ...(server !== undefined && {server})};
};

export const replies = {
  internal: {code: 451, text: '4.3.0 Local error in processing, try again later'},
  noSpace: {code: 452, text: '4.3.1 Insufficient system storage, try again later'},
  tooBig: {code: 552, text: '5.3.4 Message exceeds the maximum message size'},
  headerTooBig: {code: 552, text: '5.3.4 Message header is too big'},
  badSender: {code: 501, text: '5.1.7 Bad sender address syntax'},
  badRecipient: {code: 501, text: '5.1.3 Bad recipient address syntax'},
  nakedPostmaster: {
    code: 550,
    text: '5.1.1 This server has no mailboxes, write to the postmaster of a domain: postmaster@DOMAIN',
  },
  needsUtf8: {code: 553, text: '5.6.7 This address needs SMTPUTF8'},
  unknownParameter: {code: 555, text: '5.5.4 Unsupported parameter'},
  parameterTwice: {code: 501, text: '5.5.4 Parameter given twice'},
  badSize: {code: 501, text: '5.5.4 Bad message size syntax'},
  badBody: {code: 501, text: '5.5.4 BODY is 7BIT or 8BITMIME'},
  badUtf8: {code: 501, text: '5.5.4 SMTPUTF8 takes no value'},
  anotherDomain: {code: 452, text: '4.5.3 One recipient domain per transaction, send this recipient apart'},
  tooManyRecipients: {code: 452, text: '4.5.3 Too many recipients'},
  noBackend: {code: 451, text: '4.4.1 No mail server of this domain can be reached, try again later'},
  backendLost: {code: 451, text: '4.4.2 Connection to the mail server of this domain was lost, try again later'},
  backendChanged: {code: 451, text: '4.4.2 The mail server of this domain changed its mind about a recipient, try again later'},
  notJudged: {code: 451, text: '4.7.1 Message cannot be checked now, try again later'},
  comeAgain: {code: 451, text: '4.7.1 Message is not taken yet, try again later'},
  /** RFC 7372 has no temporary code for this; RFC 3463 section 3.8: a cryptographic failure. */
  notAuthenticated: {code: 451, text: '4.7.5 Whether its author sent this message cannot be verified now, try again later'},
  clientGone: {code: 451, text: '4.4.2 The client went away before its mail was taken'},
  spam: {code: 550, text: '5.7.1 Message refused: its spam score is too high'},
  blocked: {code: 550, text: '5.7.1 Message refused by policy'},
  tooManyConnections: {code: 421, text: '4.7.0 Too many connections, try again later'},
  tooManyFromClient: {code: 421, text: '4.7.0 Too many connections from your address, try again later'},
  tooManyTransactions: {code: 421, text: '4.7.0 Too many mails in one session, connect again'},
  tooManyErrors: {code: 421, text: '4.7.0 Too many errors'},
  tooManyUnknown: {code: 421, text: '4.7.0 Too many unknown commands'},
  tooSoon: {code: 421, text: '4.7.0 You talk too soon'},
  lineTooLong: {code: 421, text: '4.7.0 Line too long'},
  noHttp: {code: 421, text: '4.7.0 HTTP requests are not answered here'},
  idle: {code: 421, text: '4.4.2 Timeout, closing connection'},
  unknownCommand: {code: 500, text: '5.5.2 Command not recognized'},
  helloFirst: {code: 503, text: '5.5.1 Send HELO or EHLO first'},
  /** RFC 2034 section 3: no enhanced code in an answer to EHLO. */
  badHello: {code: 501, text: 'Syntax: EHLO hostname'},
  noParameters: {code: 501, text: '5.5.4 This command takes no parameters'},
  nestedMail: {code: 503, text: '5.5.1 Nested MAIL command'},
  mailFirst: {code: 503, text: '5.5.1 Send MAIL first'},
  rcptFirst: {code: 503, text: '5.5.1 Send RCPT first'},
  isSecure: {code: 503, text: '5.5.1 TLS is active already'},
  senderAccepted: {code: 250, text: '2.1.0 Accepted'},
  recipientAccepted: {code: 250, text: '2.1.5 Accepted'},
  flushed: {code: 250, text: '2.0.0 Flushed'},
  ok: {code: 250, text: '2.0.0 OK'},
  help: {code: 214, text: '2.0.0 See RFC 5321'},
  notVerified: {code: 252, text: '2.1.5 Send the mail to find out'},
  startContent: {code: 354, text: 'End data with <CR><LF>.<CR><LF>'},
  startTls: {code: 220, text: '2.0.0 Ready to start TLS'},
  bye: {code: 221, text: '2.0.0 Bye'},
  shuttingDown: {code: 421, text: '4.3.2 Service is shutting down, try again later'},
} as const satisfies Record<string, SmtpReply>;

/** Replies are ASCII unless the client requested UTF-8 (RFC 6531 section 3.7.4.1); control characters would end the reply. */
const printable = (text: string): string => {
  const ascii = text.replace(/[\x00-\x1f\x7f]+/g, ' ').replace(/[^\x20-\x7e]/gu, '?');
  return ascii.length > maxTextLength ? `${ascii.slice(0, maxTextLength - 3)}...` : ascii;
};

// EHLO keyword by which the nodes of one cluster recognise each other. The backend of a domain must not be a node: its mail would loop,
// and leave with the trust or the signature that one node gives to another.

/** Part of the hash, so that the keyword does not reveal the fingerprint, which join tokens contain. */
const label = 'mfd: EHLO keyword of a cluster\n';

/** `ca`: the certificate of the cluster's authority, PEM. The keyword is public. */
export const clusterKeyword = (ca: string): string => {
  const {fingerprint256} = new X509Certificate(ca);
  const digest = createHash('sha256').update(label).update(fingerprint256).digest('hex');
  return `X-MFD-${digest.slice(0, 16)}`;
};

/** Whether an answer to EHLO, given as lines with codes, contains the keyword, in any case (RFC 5321 section 4.1.1.1). */
export const hasKeyword = (answer: string, keyword: string): boolean =>
  answer.split(/\r?\n/).some(line => /^\d{3}[ -](\S+)/.exec(line)?.[1]?.toUpperCase() === keyword.toUpperCase());
