// One mail to one backend. A connection that breaks before any byte of the mail was sent is replaced and the envelope
// said again; after that nothing is repeated.
//
// no connection → (first rcpt: MAIL) → rcpt … → data → over;   any → abort → over

import {Readable} from 'node:stream';
import type {HostPort} from '../../../shared/host-port.ts';
import type {MailContent} from '../../services/intake/mail.ts';
import type {Route, SmtpReply} from '../../services/intake/mail-ports.ts';
import {isPositive, replies} from '../smtp-reply.ts';
import type {BackendConnection, EnvelopeStart} from './backend-connection.ts';
import {isLost, type Lost} from './command-connection.ts';

export interface BackendTransaction {
  /** The backend's own reply; 451 when no server can be reached. Never rejects. */
  rcpt(address: string): Promise<SmtpReply>;
  /**
   * Sends `prefix` and then the content to the recipients accepted so far, and ends the transaction.
   * Only a 2xx reply means that the backend has taken it. Never rejects.
   */
  data(content: MailContent, prefix: Buffer): Promise<SmtpReply>;
  /** Ends the transaction, whatever it is at; only `data` is let through. Doing it twice is harmless. */
  abort(): void;
}

/** What a transaction borrows connections from. */
export interface ConnectionLender {
  /** In the order in which to try them: those that did not answer a moment ago come last. */
  serversOf(route: Route): HostPort[];
  /** An idle connection to this server that answers, if there is one. */
  takeIdle(route: Route, server: HostPort): Promise<BackendConnection | undefined>;
  /** `isHurried`: another server is left. */
  connect(route: Route, server: HostPort, isHurried: boolean): Promise<BackendConnection | Lost>;
  /** `isClean`: no transaction is open on it. */
  giveBack(connection: BackendConnection, isClean: boolean): void;
  /** The server could not be used. */
  failed(server: HostPort, lost: Lost): void;
}

export const createBackendTransaction = (lender: ConnectionLender, route: Route, start: EnvelopeStart): BackendTransaction => {
  const accepted: string[] = [];
  let connection: BackendConnection | undefined;
  /** Once no server can be reached or the sender is refused, that is the answer to every recipient. */
  let refusal: SmtpReply | undefined;
  let isBusy = false;
  let isSending = false;
  let isOver = false;

  /** MAIL with all recipients so far, and with `next`, whose answer it resolves with. */
  const begin = async (next?: string): Promise<SmtpReply> => {
    const begun = await beginOnFirst(lender, route, start, next === undefined ? accepted : [...accepted, next]);
    if ('code' in begun) {
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

    const answer = await connection?.data(() => Readable.from(bytesOf(content, prefix), {objectMode: false}));
    const used = connection;
    connection = undefined;
    if (answer && !isLost(answer)) {
      if (used) lender.giveBack(used, isPositive(answer));
      return answer;
    }
    if (answer?.stage === 'command' && !isRepeated) return data(content, prefix, true);
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
      // Cutting the content off would leave the fate of the mail unknown.
      if (isSending) return;
      isOver = true;
      const used = connection;
      connection = undefined;
      if (!used) return;
      // A command is under way on it: its reply would be taken for that of RSET.
      if (isBusy) used.close();
      else lender.giveBack(used, false);
    },
  };
};

interface Begun {
  connection: BackendConnection;
  /** What was said to the last recipient. */
  last: SmtpReply;
}

/** MAIL and recipients, of which a lost connection had accepted all but the last, on the first server that answers. */
const beginOnFirst = async (
  lender: ConnectionLender,
  route: Route,
  start: EnvelopeStart,
  recipients: readonly string[],
): Promise<Begun | SmtpReply> => {
  const servers = lender.serversOf(route);
  for (const server of servers) {
    // Any idle connection may have gone stale since; only a fresh one tells that the server is down.
    for (let isFresh = false; !isFresh; ) {
      const idle = await lender.takeIdle(route, server);
      isFresh = idle === undefined;
      const connection = idle ?? (await lender.connect(route, server, server !== servers.at(-1)));
      if ('lost' in connection) {
        lender.failed(server, connection);
        continue;
      }
      const begun = await sayEnvelope(connection, start, recipients);
      if ('connection' in begun) return begun;
      if ('code' in begun) {
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

async function* bytesOf(content: MailContent, prefix: Buffer): AsyncGenerator<Buffer> {
  if (prefix.length > 0) yield prefix;
  yield* content.open();
}
