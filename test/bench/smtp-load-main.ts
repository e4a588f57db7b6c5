// The process behind startSmtpLoad: bare sockets, precomputed commands, and replies parsed only as far as necessary.
import {connect} from 'node:net';
import type {LoadOrder, LoadResult} from './smtp-load.ts';
import {mailTo} from './smtp-mail.ts';

interface Step {
  bytes: Buffer;
  /** The expected beginning of the reply. */
  code: string;
}

const hello: Step = {bytes: Buffer.from('EHLO client.test\r\n'), code: '250'};
const quit: Step = {bytes: Buffer.from('QUIT\r\n'), code: '221'};
const mailSteps = ({to, sizeBytes, signature = ''}: LoadOrder): Step[] => [
  {bytes: Buffer.from('MAIL FROM:<ada@example.net>\r\n'), code: '250'},
  {bytes: Buffer.from(`RCPT TO:<${to}>\r\n`), code: '250'},
  {bytes: Buffer.from('DATA\r\n'), code: '354'},
  {bytes: Buffer.concat([Buffer.from(signature, 'latin1'), mailTo(to, sizeBytes), Buffer.from('.\r\n')]), code: '250'},
];

/** One connection, on which one reply at a time is awaited. */
const openSession = (port: number) => {
  const socket = connect({host: '127.0.0.1', port, noDelay: true});
  socket.setEncoding('latin1');
  let reply = '';
  let settle: (said: string) => void = () => {};
  socket.on('data', (text: string) => {
    reply += text;
    if (!isComplete(reply)) return;
    const said = reply;
    reply = '';
    settle(said);
  });
  socket.on('error', error => settle(error.message));
  socket.on('close', () => settle('the connection was closed'));

  const heard = async (code: string): Promise<void> => {
    const said = await new Promise<string>(resolve => {
      settle = resolve;
    });
    if (!said.startsWith(code)) throw new Error(said.trim());
  };
  return {
    heard,
    async say({bytes, code}: Step): Promise<void> {
      socket.write(bytes);
      await heard(code);
    },
    end: () => void socket.destroy(),
  };
};

/** One reply, of one line or several. */
const isComplete = (text: string): boolean => {
  const start = text.lastIndexOf('\n', text.length - 2) + 1;
  return text.endsWith('\r\n') && text[start + 3] !== '-';
};

const run = async (order: LoadOrder): Promise<LoadResult> => {
  const steps = mailSteps(order);
  const startedAt = performance.now();
  let begun = 0;
  let accepted = 0;
  let failure: string | undefined;

  const client = async (): Promise<void> => {
    const session = openSession(order.port);
    try {
      await session.heard('220');
      await session.say(hello);
      while (begun < order.count) {
        begun += 1;
        for (const step of steps) await session.say(step);
        accepted += 1;
      }
      await session.say(quit);
    } catch (error) {
      failure ??= String(error);
      // The other clients send no more mail either.
      begun = order.count;
    } finally {
      session.end();
    }
  };
  await Promise.all(Array.from({length: Math.min(order.clients, order.count)}, client));
  return {seconds: (performance.now() - startedAt) / 1000, accepted, ...(failure !== undefined && {failure})};
};

process.on('message', (order: LoadOrder) => void run(order).then(result => process.send?.(result)));
