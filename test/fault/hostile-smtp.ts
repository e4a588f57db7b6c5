// Sessions that no mail server would hold: each line gets an SMTP reply, or the connection ends.
import {connect as connectSocket, type Socket} from 'node:net';
import {connect as connectTls} from 'node:tls';
import {startMailNode} from '../helpers/mail-node.ts';
import {connect} from '../helpers/smtp-client.ts';
import type {Fault, FaultContext} from './fault.ts';
import {createTally, runHostile} from './hostile.ts';
import {type SmtpStep, smtpSteps} from './hostile-smtp-input.ts';
import {memoryFolder} from './memory-folder.ts';
import {createMemoryProbe} from './memory-probe.ts';
import type {Random} from './random.ts';

export const hostileSmtp: Fault = {
  name: 'hostile-smtp',
  title: 'generated SMTP input of a hostile client',
  rounds: 100_000,
  shortRounds: 1000,
  pass: 'no crash, no internal error, no undeclared code, memory and open files flat, a good client served',
  run: async context => {
    const memory = await createMemoryProbe(context.owner);
    const node = await startMailNode(context.owner, {
      env: memory.env,
      data: await memoryFolder(context.owner),
      config: {log: {level: 'warn'}, smtp: {max_size: '256K', max_recipients: 20}},
      domain: {quarantine_threshold: 6},
    });
    const codes = createTally();
    const good = await createGoodSender(context, {port: node.smtpPort, arrived: () => node.sink.mails});
    const report = await runHostile(context, {
      node,
      memory,
      concurrency: 60,
      session: async random => {
        // The short form has no time to wait for the end of a handshake that is never completed.
        const staysForTls = random.chance(0.02) && !context.isShort;
        const {steps, received} = await hold(random, {port: node.smtpPort, staysForTls});
        for (const code of codesIn(received, steps)) codes.add(code);
        return steps.length;
      },
      good: good.send,
      figures: () => ({codes: codes.text()}),
    });
    return {...report, violations: [...report.violations, ...good.lost()]};
  },
};

/** Long enough for a mail that is relayed to the backend on a busy machine, and for a handshake that never ends (30 s). */
const patienceMs = 50_000;
const readyForTls = 'Ready to start TLS\r\n';

interface Stay {
  port: number;
  /** A client that was told to start TLS and sends nothing leaves the end to the server. */
  staysForTls: boolean;
}

/** One connection: all steps, cut at any place, then the end. The server must end it too. */
const hold = async (random: Random, {port, staysForTls}: Stay): Promise<{steps: SmtpStep[]; received: string}> => {
  const steps = smtpSteps(random);
  let socket: Socket = connectSocket({port, host: '127.0.0.1'});
  let received = '';
  let isSaid = false;
  const leaveTls = () => {
    if (isSaid && !staysForTls && received.endsWith(readyForTls)) socket.end();
  };
  const hear = (chunk: Buffer) => {
    received += chunk.toString('latin1');
    leaveTls();
  };
  socket.on('error', () => undefined).on('data', hear);
  const over = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`hung in ${steps.map(describe).join(' ')}: ${received.slice(-300)}`));
      socket.destroy();
    }, patienceMs);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  over.catch(() => undefined);

  if (!random.chance(0.03)) await heard(() => received.includes('\n'), socket);
  if (random.chance(0.03)) socket = await secured(socket, hear, () => received);
  for (const {bytes} of steps) {
    for (const part of cut(random, bytes)) {
      if (socket.destroyed) break;
      socket.write(part);
      if (random.chance(0.2)) await new Promise(resolve => setImmediate(resolve));
    }
  }
  if (random.chance(0.1)) socket.destroy();
  else socket.write('\r\n.\r\nQUIT\r\n');
  isSaid = true;
  leaveTls();
  await over;
  return {steps, received};
};

const describe = ({bytes}: SmtpStep) => JSON.stringify(bytes.subarray(0, 60).toString('latin1'));

const heard = async (isThere: () => boolean, socket: Socket): Promise<void> => {
  while (!isThere() && !socket.destroyed)
    await new Promise<void>(resolve => {
      const go = () => {
        socket.off('data', go).off('close', go);
        resolve();
      };
      socket.on('data', go).on('close', go);
    });
};

const secured = async (socket: Socket, hear: (chunk: Buffer) => void, received: () => string): Promise<Socket> => {
  socket.write('EHLO tls.test\r\nSTARTTLS\r\n');
  await heard(() => /^220 .*\r\n(?:.|\r\n)*^220 /m.test(received()), socket);
  if (socket.destroyed) return socket;
  socket.off('data', hear);
  const tls = connectTls({socket, rejectUnauthorized: false});
  tls.on('error', () => socket.destroy()).on('data', hear);
  tls.once('close', () => socket.destroy());
  return tls;
};

/** At most a few pieces. */
const cut = (random: Random, bytes: Buffer): Buffer[] => {
  if (!random.chance(0.2) || bytes.length < 2) return [bytes];
  const at = random.between(1, bytes.length - 1);
  return [bytes.subarray(0, at), bytes.subarray(at)];
};

/** RFC 5321, 3207, 4954 and 1870; 421 only for client errors; 451 is checked as `internal` below. */
const declared = new Set(
  '214 220 221 250 252 354 421 450 452 454 500 501 502 503 504 530 538 550 552 553 554 555'.split(' ').map(Number),
);

const codesIn = (received: string, steps: SmtpStep[]): string[] => {
  // An incomplete line at the end is not a reply.
  const lines = received.split('\r\n').slice(0, -1);
  return lines.map(line => {
    const code = Number(/^(\d{3})[ -]/.exec(line)?.[1]);
    const isOurs = declared.has(code) && !(code === 421 && !/too many|too soon|line too long|HTTP requests/i.test(line));
    if (!isOurs || line.length > 510 || /Local error|at \/|SQLITE|\.ts:/.test(line))
      throw new Error(`answered ${JSON.stringify(line)} in ${steps.map(describe).join(' ')}`);
    return String(code);
  });
};

interface GoodNeeds {
  port: number;
  arrived(): readonly {content: Buffer}[];
}

/** One mail at a time on a kept connection; it must reach the backend. */
const createGoodSender = async (context: FaultContext, {port, arrived}: GoodNeeds) => {
  const accepted = new Set<string>();
  let client = await connect(port);
  await client.cmd('EHLO good.test');
  context.owner.teardown(() => client.destroy());
  let sent = 0;

  const expect = (what: string, {code, text}: {code: number; text: string}, wanted: number) => {
    if (code !== wanted) throw new Error(`${what}: ${code} ${text}`);
  };
  return {
    async send() {
      sent += 1;
      if (sent % 500 === 0) {
        client.destroy();
        client = await connect(port);
        expect('EHLO', await client.cmd('EHLO good.test'), 250);
      }
      const token = `good-${sent}-`;
      expect('MAIL', await client.cmd('MAIL FROM:<good@example.net>'), 250);
      expect('RCPT', await client.cmd('RCPT TO:<ben@example.com>'), 250);
      expect('DATA', await client.data(`Subject: ${token}\r\n\r\nbody\r\n`), 250);
      accepted.add(token);
    },
    /** Mails that were acknowledged and did not arrive, each with its name. */
    lost: () => {
      const there = new Set(arrived().map(({content}) => /^Subject: (good-\d+-)/m.exec(content.toString('latin1'))?.[1]));
      return [...accepted].filter(token => !there.has(token)).map(token => `${token} was acknowledged and never came`);
    },
  };
};
