// A real SMTP server that plays the backend: records received mail byte for byte, and misbehaves on request.
import {once} from 'node:events';
import type {AddressInfo} from 'node:net';
import {SMTPServer, type SMTPServerSession} from 'smtp-server';
import type {HostPort} from '../../shared/host-port.ts';
import type {Owner} from './daemon.ts';

interface SinkReply {
  code: number;
  text: string;
}

export interface SinkMail {
  sender: string;
  recipients: string[];
  /** The exact bytes after DATA, dot-unstuffed. */
  content: Buffer;
  isUtf8: boolean;
  isEightBit: boolean;
  isSecure: boolean;
  user: string | undefined;
}

export interface SinkBehaviour {
  /** Replies to MAIL by sender, to RCPT by recipient. */
  senders?: Record<string, SinkReply>;
  recipients?: Record<string, SinkReply>;
  /** Replaces the 250 after the final dot. */
  final?: SinkReply | ((content: string) => SinkReply | undefined);
  /** Delay before every reply to MAIL and RCPT and to the final dot. */
  delayMs?: number;
  drop?: 'on-connect' | 'on-rcpt' | 'within-data' | 'after-final-dot';
}

export interface SinkOptions extends SinkBehaviour {
  listen?: HostPort;
  /** True: a self-signed certificate. */
  hasTls?: boolean;
  tls?: {key: string; cert: string};
  hasUtf8?: boolean;
  auth?: {username: string; password: string};
  maxSize?: number;
  onMail?: (mail: SinkMail) => void;
}

export interface SmtpSink {
  server: HostPort;
  mails: SinkMail[];
  /** Command lines that began or ended something, as far as smtp-server shows them: `MAIL a`, `RCPT b`, `DATA`. */
  steps: string[];
  /** Number of connections so far. */
  connectionCount(): number;
  behave(behaviour: SinkBehaviour): void;
  dropConnections(): void;
  close(): Promise<void>;
}

export const startSmtpSink = async (t?: Owner, options: SinkOptions = {}): Promise<SmtpSink> => {
  const {listen = {host: '127.0.0.1', port: 0}, auth} = options;
  const hasTls = options.hasTls === true || options.tls !== undefined;
  let behaviour: SinkBehaviour = options;
  let connectionCount = 0;
  const mails: SinkMail[] = [];
  const steps: string[] = [];

  const cutOff = (session: SMTPServerSession): void => {
    for (const connection of server.connections) if (connection.session === session) connection._socket.destroy();
  };
  const say = (reply: SinkReply | undefined, callback: (error?: Error | null) => void): void => {
    const error = reply && Object.assign(new Error(reply.text), {responseCode: reply.code});
    if (behaviour.delayMs) setTimeout(() => callback(error), behaviour.delayMs);
    else callback(error);
  };

  const server: SMTPServer = new SMTPServer({
    logger: false,
    name: 'sink.test',
    disableReverseLookup: true,
    authOptional: true,
    allowInsecureAuth: true,
    ...options.tls,
    hideSTARTTLS: !hasTls,
    hideSMTPUTF8: options.hasUtf8 === false,
    disabledCommands: [...(auth ? [] : ['AUTH']), ...(hasTls ? [] : ['STARTTLS'])],
    closeTimeout: 200,
    ...(options.maxSize && {size: options.maxSize}),
    onConnect: (session, callback) => {
      connectionCount += 1;
      if (behaviour.drop === 'on-connect') cutOff(session);
      else callback();
    },
    onAuth: ({username, password}, _session, callback) => {
      if (username === auth?.username && password === auth?.password) callback(null, {user: username});
      else callback(Object.assign(new Error('5.7.8 Wrong password'), {responseCode: 535}));
    },
    onMailFrom: ({address}, _session, callback) => {
      steps.push(`MAIL ${address}`);
      say(behaviour.senders?.[address], callback);
    },
    onRcptTo: ({address}, session, callback) => {
      steps.push(`RCPT ${address}`);
      if (behaviour.drop === 'on-rcpt') cutOff(session);
      else say(behaviour.recipients?.[address], callback);
    },
    onData: (stream, session, callback) => {
      steps.push('DATA');
      const chunks: Buffer[] = [];
      stream.on('error', () => undefined);
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if (behaviour.drop === 'within-data') cutOff(session);
      });
      stream.on('end', () => {
        if (behaviour.drop === 'within-data' || behaviour.drop === 'after-final-dot') {
          cutOff(session);
          return;
        }
        const mail = mailOf(session, Buffer.concat(chunks));
        const {final} = behaviour;
        const reply = typeof final === 'function' ? final(mail.content.toString()) : final;
        if (!reply) {
          mails.push(mail);
          options.onMail?.(mail);
        }
        say(reply, callback);
      });
    },
  });
  server.on('error', () => undefined);
  server.listen(listen.port, listen.host);
  await once(server.server, 'listening');

  const sink: SmtpSink = {
    server: {host: listen.host, port: (server.server.address() as AddressInfo).port},
    mails,
    steps,
    connectionCount: () => connectionCount,
    behave: next => {
      behaviour = next;
    },
    dropConnections: () => {
      for (const connection of server.connections) connection._socket.destroy();
    },
    close: () => new Promise(resolve => server.close(() => resolve())),
  };
  t?.teardown(sink.close);
  return sink;
};

const mailOf = ({envelope, secure, user}: SMTPServerSession, content: Buffer): SinkMail => ({
  sender: envelope.mailFrom ? envelope.mailFrom.address : '',
  recipients: envelope.rcptTo.map(({address}) => address),
  content,
  isUtf8: envelope.smtpUtf8 === true,
  isEightBit: envelope.bodyType === '8bitmime',
  isSecure: secure,
  user: typeof user === 'string' ? user : undefined,
});
