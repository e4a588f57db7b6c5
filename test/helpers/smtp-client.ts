// A small SMTP client that sends any line, well-formed or not.
import {once} from 'node:events';
import {connect as connectSocket, type Socket} from 'node:net';
import {type ConnectionOptions, connect as connectTls} from 'node:tls';

export interface Reply {
  code: number;
  /** All lines without their codes, joined by line feeds. */
  text: string;
}

export interface SmtpClient {
  greeting: Reply;
  /** Sends one line and reads the reply. */
  cmd(line: string): Promise<Reply>;
  /** Sends DATA, the content with dots stuffed, and the final dot. `isRaw` sends the content unchanged, without an end. */
  data(content: string | Buffer, options?: {isRaw?: boolean}): Promise<Reply>;
  /** Sends bytes as they are, in one piece. */
  write(bytes: string | Buffer): void;
  /** Resolves with the next reply; rejects when the server closes before it is complete. */
  reply(): Promise<Reply>;
  /** Accepts any certificate by default. */
  startTls(trust?: ConnectionOptions): Promise<{subject: string}>;
  /** Resolves when the server has closed. */
  closed: Promise<unknown>;
  destroy(): void;
}

export const connect = async (port: number, host = '127.0.0.1'): Promise<SmtpClient> => {
  let socket: Socket = connectSocket({host, port});
  let replies = createReplyReader(socket);
  const closed = new Promise(resolve => socket.once('close', resolve));
  const write = (bytes: string | Buffer) => void socket.write(bytes);
  const cmd = (line: string) => {
    write(`${line}\r\n`);
    return replies.next();
  };

  return {
    greeting: await replies.next(),
    cmd,
    write,
    reply: () => replies.next(),
    closed,
    destroy: () => socket.destroy(),
    data: async (content, {isRaw = false} = {}) => {
      const go = await cmd('DATA');
      if (go.code !== 354) return go;
      if (isRaw) write(content);
      else write(Buffer.concat([stuffed(Buffer.from(content)), Buffer.from('.\r\n')]));
      return replies.next();
    },
    startTls: async (trust = {rejectUnauthorized: false}) => {
      const go = await cmd('STARTTLS');
      if (go.code !== 220) throw new Error(`STARTTLS: ${go.code} ${go.text}`);
      const tls = connectTls({...trust, socket});
      await once(tls, 'secureConnect');
      socket = tls;
      replies = createReplyReader(tls);
      return {subject: String(tls.getPeerCertificate().subject.CN)};
    },
  };
};

export interface SendMail {
  port: number;
  /** By default 127.0.0.1. */
  host?: string;
  from: string;
  to: string | string[];
  raw: string | Buffer;
  /** MAIL parameters such as SMTPUTF8. */
  parameters?: string;
}

/** Sends one mail in one session. `reply` is the first refusal of MAIL, or of all recipients, or the reply to DATA. */
export const sendMail = async ({
  port,
  host,
  from,
  to,
  raw,
  parameters,
}: SendMail): Promise<{reply: Reply; recipients: Reply[]}> => {
  const client = await connect(port, host);
  try {
    await client.cmd('EHLO client.test');
    const mail = await client.cmd(`MAIL FROM:<${from}>${parameters ? ` ${parameters}` : ''}`);
    const recipients: Reply[] = [];
    if (mail.code !== 250) return {reply: mail, recipients};
    for (const recipient of [to].flat()) recipients.push(await client.cmd(`RCPT TO:<${recipient}>`));
    const refusal = recipients.every(({code}) => code !== 250) ? recipients[0] : undefined;
    return {reply: refusal ?? (await client.data(raw)), recipients};
  } finally {
    client.destroy();
  }
};

/** Adds a dot to lines that begin with a dot, and a line end to the last line (RFC 5321 section 4.5.2). */
const stuffed = (content: Buffer): Buffer => {
  const text = content.toString('latin1').replace(/(^|\r\n)\./g, '$1..');
  return Buffer.from(text === '' || text.endsWith('\r\n') ? text : `${text}\r\n`, 'latin1');
};

const createReplyReader = (socket: Socket) => {
  let buffered = '';
  let failure: Error | undefined;
  const replies: Reply[] = [];
  const waiting: {resolve(reply: Reply): void; reject(error: Error): void}[] = [];

  const fail = (error: Error) => {
    failure ??= error;
    for (const {reject} of waiting.splice(0)) reject(failure);
  };
  socket.on('data', (chunk: Buffer) => {
    buffered += chunk.toString();
    for (let match = complete.exec(buffered); match; match = complete.exec(buffered)) {
      buffered = buffered.slice(match[0].length);
      const lines = match[0].trimEnd().split('\r\n');
      replies.push({code: Number(lines[0]?.slice(0, 3)), text: lines.map(line => line.slice(4)).join('\n')});
    }
    while (replies.length > 0 && waiting.length > 0) {
      const reply = replies.shift();
      if (reply) waiting.shift()?.resolve(reply);
    }
  });
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the server closed the connection')));

  return {
    next: (): Promise<Reply> => {
      const reply = replies.shift();
      if (reply) return Promise.resolve(reply);
      if (failure) return Promise.reject(failure);
      return new Promise((resolve, reject) => waiting.push({resolve, reject}));
    },
  };
};

const complete = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3}(?: [^\r\n]*)?\r\n/;
