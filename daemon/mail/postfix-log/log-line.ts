// Parser of lines in the log of Postfix. Clients and servers write parts of a line (addresses, replies), so it is read from the left, in the
// fixed order of Postfix (src/global/log_adhoc.c), and each part ends where it cannot go on. No expression goes back over what it has read.
import type {PostfixLine} from '../../services/events/postfix-line.ts';

/** A program of Postfix and its message. */
export interface LogMessage {
  /** `SYSLOG_NAME/PROGRAM`; the name may have further slashes. */
  identifier: string;
  text: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** Longer lines are not read. */
export const maxLineChars = 16 * 1024;
/** What is longer may have been cut: Postfix does that at 2,000 bytes, and some loggers at 1,024, less what stands before the message. */
const maxWholeBytes = 900;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const head =
  /^(?:([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d)|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d))) \S{1,255} (\S{1,200})\[\d{1,10}\]: /;

/** Programs whose messages are read, by the last part of their identifiers. */
const programs = /\/(?:smtp|lmtp|local|virtual|pipe|error|discard|qmgr|pickup)$/;

/** A reader of lines of a file; it remembers the last time, as most lines have the same. `now`: a time without a year is before it. */
export const createLineReader = (now: () => number) => {
  let last = {text: '', at: 0};
  const timeOf = (text: string, match: RegExpExecArray): number => {
    if (text === last.text) return last.at;
    const [, month, day, hour, minute, second, iso] = match;
    const at =
      iso === undefined
        ? localTime([months.indexOf(month ?? ''), Number(day), Number(hour), Number(minute), Number(second)], now())
        : Date.parse(iso);
    last = {text, at};
    return at;
  };

  return (line: string): PostfixLine | undefined => {
    if (line.length > maxLineChars) return undefined;
    const match = head.exec(line);
    const identifier = match?.[7] ?? '';
    if (!match || !programs.test(identifier)) return undefined;
    const at = timeOf(line.slice(0, match[6]?.length ?? 15), match);
    return Number.isNaN(at) ? undefined : readMessage({identifier, text: line.slice(match[0].length), at});
  };
};

const dayMs = 86_400_000;

/** In the time zone of this machine. A line of the last evening of a year is read in the next one. */
const localTime = ([month, day, hour, minute, second]: [number, number, number, number, number], now: number): number => {
  if (month < 0 || day < 1 || day > 31) return Number.NaN;
  const year = new Date(now).getFullYear();
  const at = new Date(year, month, day, hour, minute, second).getTime();
  return at > now + dayMs ? new Date(year - 1, month, day, hour, minute, second).getTime() : at;
};

const queueId = '[0-9A-Za-z]{6,64}';
/** A quoted local part may have any character in it. What is not quoted ends at the first `>`. */
const address = String.raw`<("(?:[^"\\]|\\.)*"@[^<>]*|[^<>"][^<>]*)>`;
const delivery = new RegExp(
  String.raw`^(${queueId}): to=${address}(?:, orig_to=${address})?, relay=([^\s,]{1,400})((?:, [a-z_]{1,20}=[^\s,()]{1,100}){1,8}), status=(\w{1,20}) \(`,
);
/** `delays=a/b/c/d`, in seconds: before the queue manager and in it, where held mail waits; then the connection, and the transmission. */
const conversation = /, delays=[\d.]{1,16}\/[\d.]{1,16}\/(\d{1,9}(?:\.\d{1,6})?)\/(\d{1,9}(?:\.\d{1,6})?)(?=,|$)/;
const expired = new RegExp(`^(${queueId}): from=<[^<>]*>, status=(?:force-)?expired, returned to sender$`);
const requeued = new RegExp(String.raw`^(${queueId}): uid=\d{1,10} from=<[^<>]*> orig_id=(${queueId})$`);

/** Undefined for what is not about the fate of a mail. */
export const readMessage = ({identifier, text, at}: LogMessage): PostfixLine | undefined => {
  if (text.length > maxLineChars || !programs.test(identifier)) return undefined;
  const program = identifier.slice(identifier.lastIndexOf('/') + 1);
  if (program === 'qmgr') {
    const id = expired.exec(text)?.[1];
    return id === undefined ? undefined : {kind: 'expired', queueId: id, at};
  }
  if (program === 'pickup') {
    const [, id, formerId] = requeued.exec(text) ?? [];
    return id === undefined || formerId === undefined ? undefined : {kind: 'requeued', queueId: id, formerId, at};
  }
  return deliveryIn(text, at);
};

const events = new Map([
  ['sent', 'sent'],
  ['bounced', 'bounced'],
  ['deferred', 'postponed'],
  // With soft_bounce = yes.
  ['SOFTBOUNCE', 'postponed'],
] as const);

const deliveryIn = (text: string, at: number): PostfixLine | undefined => {
  const match = delivery.exec(text);
  if (!match) return undefined;
  const [begin, id = '', to = '', originalTo, relay = '', attributes = '', status = ''] = match;
  const event = events.get(status as 'sent');
  if (event === undefined) return undefined;
  const isWhole = text.endsWith(')');
  const said = isWhole ? text.slice(begin.length, -1) : `${text.slice(begin.length)}…`;
  const [, connecting, sending] = conversation.exec(attributes) ?? [];
  return {
    kind: 'delivery',
    queueId: id,
    at,
    event,
    to: bounded(to, maxAddressChars),
    originalTo: originalTo === undefined ? undefined : bounded(originalTo, maxAddressChars),
    ...answerIn(event, relay, said),
    tookMs: connecting === undefined ? null : Math.round((Number(connecting) + Number(sending)) * 1000),
    // Also where the rest of the address may have been cut off.
    isAmbiguous: said.includes('>, relay=') || !isWhole || Buffer.byteLength(text) > maxWholeBytes,
  };
};

const maxAddressChars = 400;
const maxTextChars = 1000;
/** `NAME[ADDRESS]:PORT`, or `NAME[PATH]` for a socket. */
const server = /^[^\s[\]]{1,255}\[[^\s[\]]{1,255}\](?::\d{1,5})?$/;
const stage = / \(in reply to [^()]{1,60}\)$/;

/** A server has answered if Postfix says so, or has delivered to it; all else are the words of Postfix. */
const answerIn = (event: string, relay: string, said: string): {server: string | null; reply: string | null; detail: string} => {
  const begin = `host ${relay.replace(/:\d{1,5}$/, '')} said: `;
  if (server.test(relay) && said.startsWith(begin)) {
    const when = stage.exec(said)?.[0] ?? '';
    const reply = said.slice(begin.length, said.length - when.length);
    return {server: relay, reply: bounded(reply, maxTextChars), detail: when.slice(2, -1)};
  }
  if (server.test(relay) && event === 'sent' && /^\d{3}[ -]/.test(said))
    return {server: relay, reply: bounded(said, maxTextChars), detail: ''};
  return {server: null, reply: null, detail: bounded(said, maxTextChars)};
};

/** Control characters are marked, so that what a server says stays one line wherever it is shown. */
const bounded = (text: string, max: number): string => {
  const plain = text.replace(/[\p{Cc}\u2028\u2029]/gu, '\u{fffd}');
  return plain.length > max ? `${plain.slice(0, max)}…` : plain;
};
