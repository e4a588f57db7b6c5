// Transaction of one mail with one backend. When a connection breaks before any byte of the mail was sent, the envelope is repeated
// on another one; after that nothing is repeated.
//
// no connection → (first rcpt: MAIL) → rcpt … → data → over;   any → abort → over

import {hasOwn} from '../../../shared/has-own.ts';
import type {HostPort} from '../../../shared/host-port.ts';
import {createHeaderReader} from '../../services/intake/header-block.ts';
import type {MailContent, Route, SmtpReply} from '../../services/intake/mail.ts';
import {isPositive, replies} from '../smtp-reply.ts';
import {type BackendConnection, type EnvelopeStart, utf8Needed} from './backend-connection.ts';
import {type Answer, isLost, type Lost} from './command-connection.ts';

export interface BackendTransaction {
  /** The backend's own reply; 451 when no server can be reached. Never rejects. */
  rcpt(address: string): Promise<SmtpReply>;
  /**
   * Sends `prefix` and then the content to the recipients accepted so far, and ends the transaction.
   * Only a 2xx reply means that the backend has taken it. Never rejects.
   */
  data(content: MailContent, prefix: Buffer): Promise<SmtpReply>;
  /** Ends the transaction at any point, except that a running `data` is completed. A second call has no effect. */
  abort(): void;
}

/** Source of connections for a transaction. */
export interface ConnectionLender {
  /** The servers in the order in which to try them: those that did not answer recently come last. */
  serversOf(route: Route): HostPort[];
  /** An idle connection to this server that has answered a check, if there is one. */
  takeIdle(route: Route, server: HostPort): Promise<BackendConnection | undefined>;
  /** `isHurried` shortens the timeout: another server is left. */
  connect(route: Route, server: HostPort, isHurried: boolean): Promise<BackendConnection | Lost>;
  /** `isClean`: no transaction is open on it. */
  giveBack(connection: BackendConnection, isClean: boolean): void;
  /** The connection broke, or the server went silent, once the mail was being sent. */
  lostInData(connection: BackendConnection, lost: Lost): void;
  /** The server could not be used. */
  failed(server: HostPort, lost: Lost): void;
}

export const createBackendTransaction = (lender: ConnectionLender, route: Route, start: EnvelopeStart): BackendTransaction => {
  const accepted: string[] = [];
  let connection: BackendConnection | undefined;
  /** When no server can be reached or the sender is refused, the answer to every recipient. */
  let refusal: SmtpReply | undefined;
  let isBusy = false;
  let isSending = false;
  let isOver = false;

  /** Sends MAIL, all recipients so far, and `next`; resolves with the answer to `next`. */
  const begin = async (next?: string): Promise<SmtpReply> => {
    const begun = await beginOnFirst(lender, route, start, next === undefined ? accepted : [...accepted, next]);
    if (hasOwn(begun, 'code')) {
      refusal = begun;
      return begun;
    }
    if (isOver) {
      begun.connection.close();
      return replies.backendLost;
    }
    connection = begun.connection;
    if (next !== undefined && isPositive(begun.last)) accepted.push(next);
    return begun.last;
  };

  const rcpt = async (address: string): Promise<SmtpReply> => {
    if (refusal) return refusal;
    if (!connection) return begin(address);

    const answer = await connection.rcpt(address);
    if (!isLost(answer)) {
      if (isPositive(answer)) accepted.push(address);
      return answer;
    }
    connection = undefined;
    return isOver ? replies.backendLost : begin(address);
  };

  const data = async (content: MailContent, prefix: Buffer, isRepeated = false): Promise<SmtpReply> => {
    if (!refusal && !connection && !isPositive(await begin())) refusal ??= replies.backendChanged;
    if (refusal) return refusal;

    const used = connection;
    const {answer, isReadable} = used ? await sendContent(used, start, {content, prefix}) : unsent;
    connection = undefined;
    if (answer && !isLost(answer)) {
      if (used) lender.giveBack(used, isPositive(answer));
      return answer;
    }
    if (answer?.stage === 'command' && !isRepeated) return data(content, prefix, true);
    if (used && answer && isReadable) lender.lostInData(used, answer);
    return replies.backendLost;
  };

  const whileBusy = async (step: () => Promise<SmtpReply>): Promise<SmtpReply> => {
    if (isOver) return replies.backendLost;
    isBusy = true;
    try {
      return await step();
    } finally {
      isBusy = false;
    }
  };

  return {
    rcpt: address => whileBusy(() => rcpt(address)),
    data: async (content, prefix) => {
      isSending = true;
      const reply = await whileBusy(() => data(content, prefix));
      isSending = false;
      isOver = true;
      return reply;
    },
    abort: () => {
      // If the content were cut off, nobody would know whether the server took the mail.
      if (isSending) return;
      isOver = true;
      const used = connection;
      connection = undefined;
      if (!used) return;
      // The reply to the command under way would be mistaken for the reply to RSET.
      if (isBusy) used.close();
      else lender.giveBack(used, false);
    },
  };
};

interface Begun {
  connection: BackendConnection;
  /** The answer to the last recipient. */
  last: SmtpReply;
}

/** Sends MAIL and recipients to the first server that answers. A lost connection may have accepted all recipients but the last. */
const beginOnFirst = async (
  lender: ConnectionLender,
  route: Route,
  start: EnvelopeStart,
  recipients: readonly string[],
): Promise<Begun | SmtpReply> => {
  const servers = lender.serversOf(route);
  for (const server of servers) {
    // Idle connections may be stale; only a failed new connection shows that the server is down.
    for (let isFresh = false; !isFresh; ) {
      const idle = await lender.takeIdle(route, server);
      isFresh = idle === undefined;
      const connection = idle ?? (await lender.connect(route, server, server !== servers.at(-1)));
      if (hasOwn(connection, 'lost')) {
        lender.failed(server, connection);
        continue;
      }
      const begun = await sayEnvelope(connection, start, recipients);
      if (hasOwn(begun, 'connection')) return begun;
      if (hasOwn(begun, 'code')) {
        lender.giveBack(connection, false);
        return begun;
      }
      connection.close();
      if (isFresh) lender.failed(server, begun);
    }
  }
  return replies.noBackend;
};

const sayEnvelope = async (
  connection: BackendConnection,
  start: EnvelopeStart,
  recipients: readonly string[],
): Promise<Begun | SmtpReply | Lost> => {
  const {mail, recipients: answers} = await connection.begin(start, recipients);
  if (isLost(mail) || !isPositive(mail)) return mail;

  let last: SmtpReply = mail;
  for (const answer of answers) {
    if (isLost(answer)) return answer;
    if (!isPositive(last)) return replies.backendChanged;
    last = answer;
  }
  return {connection, last};
};

interface Sent {
  answer: Answer | undefined;
  /** Otherwise it is not the server's fault. */
  isReadable: boolean;
}

const unsent: Sent = {answer: undefined, isReadable: true};

const sendContent = async (
  connection: BackendConnection,
  start: EnvelopeStart,
  {content, prefix}: {content: MailContent; prefix: Buffer},
): Promise<Sent> => {
  if (start.isUtf8 && !connection.isUtf8 && (await hasUtf8Field(content))) return {answer: utf8Needed, isReadable: true};
  let isReadable = true;
  const open = () => {
    const bytes = content.open().once('error', () => {
      isReadable = false;
    });
    bytes.unshift(prefix);
    return bytes;
  };
  const answer = await connection.data(open);
  return {answer, isReadable};
};

/**
 * Whether a mail that came with SMTPUTF8 needs it for its header (RFC 6531 section 3.4). Mails that came without it are not asked:
 * fields with bytes that are not ASCII are common in them, and sent as they are.
 */
const hasUtf8Field = async (content: MailContent): Promise<boolean> => {
  const header = createHeaderReader();
  try {
    for await (const chunk of content.open() as AsyncIterable<Buffer>) {
      header.push(chunk);
      if (header.isDone) break;
    }
  } catch {
    // Content that cannot be read fails in the same way when it is sent.
  }
  return header.fields().some(({value}) => /[^\x00-\x7f]/.test(value));
};
