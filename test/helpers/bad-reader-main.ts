// A reader that does what it is told by the sender of a mail, or by the selector of a key.
import {createSocket} from 'node:dgram';
import {lookup, Resolver} from 'node:dns';
import {connect, createServer, Socket} from 'node:net';
import {confine} from '../../daemon/mail/readers/confine.ts';
import {createFrameReader, writeFrame} from '../../daemon/mail/readers/frames.ts';
import type {ToReader} from '../../daemon/mail/readers/protocol.ts';

const answers = new Socket({fd: 3, writable: true, readable: false});
const tell = (message: object) => writeFrame(answers, message);

const facts = () => ({
  pid: process.pid,
  environment: Object.keys(process.env),
  inherited: process.env.NODE_OPTIONS ?? '',
  hasProto: Object.hasOwn(Object.prototype, '__proto__'),
  mayRead: process.permission.has('fs.read', '/etc/passwd'),
  mayWrite: process.permission.has('fs.write', '/tmp'),
  mayStart: process.permission.has('child'),
  maySignal: typeof process.kill !== 'undefined',
  sockets: sockets(),
});

/** What the network can be used for. */
const sockets = (): string[] => {
  const socket = connect({host: '127.0.0.1', port: 9}).on('error', () => {});
  const {_handle: handle} = socket as unknown as {_handle: object};
  socket.destroy();
  const attempts = {
    listen: () => createServer().listen(0),
    lookup: () => lookup('localhost', () => {}),
    resolve: () => new Resolver().resolve4('localhost', () => {}),
  };
  return [
    ...('connect' in handle ? ['connect'] : []),
    ...('bind' in udpHandle() ? ['receive'] : []),
    ...Object.entries(attempts).flatMap(([name, attempt]) => (works(attempt) ? [name] : [])),
  ];
};

/** Some versions of Node bind a socket later, where an error ends the process. */
const udpHandle = (): object => {
  const socket = createSocket('udp4');
  const state = Object.getOwnPropertySymbols(socket).find(({description}) => description === 'state symbol') as symbol;
  const {handle} = (socket as unknown as Record<symbol, {handle: object}>)[state] as {handle: object};
  socket.close();
  return handle;
};

const works = (attempt: () => unknown): boolean => {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
};

let mails = 0;

const act = (job: number, what: string): void => {
  mails += 1;
  switch (what) {
    case 'hang':
      for (;;);
    case 'end':
      process.exit(3);
      break;
    case 'wrong result':
      tell({kind: 'result', job, result: 'perhaps'});
      break;
    case 'wrong message':
      tell({kind: 'order', job});
      break;
    case 'no JSON':
      answers.write(Buffer.from([2, 0, 0, 0, 0, 0, 0, 0, 0x7b, 0x7b]));
      break;
    case 'flood':
      answers.write(Buffer.from([0, 0, 0, 0x7f, 0, 0, 0, 0]));
      break;
    case 'ask without end':
      for (let question = 0; question < 6000; question += 1) tell({kind: 'question', job, question, name: 'a.test', type: 'TXT'});
      break;
    case 'start again':
      tell({kind: 'ready'});
      break;
    case 'end a used one':
      if (mails > 1) process.exit(3);
      tell({kind: 'result', job, result: 'pass'});
      break;
    case 'ask':
      tell({kind: 'question', job, question: job, name: 'example.com', type: 'TXT'});
      break;
    case 'ask and hang':
      tell({kind: 'question', job, question: job, name: 'example.com', type: 'TXT'});
      setTimeout(() => {
        for (;;);
      }, 50);
      break;
    case 'facts':
      tell({kind: 'result', job, result: JSON.stringify(facts())});
      break;
    case 'nothing':
      break;
    default:
      setTimeout(() => tell({kind: 'result', job, result: 'pass'}), 20);
  }
};

/** Of as many sources as are asked for. */
const report = (job: number, count: number): void => {
  const sums = {count: 1, passed: 0, spf_passed: 0, spf_aligned: 0, dkim_passed: 0, dkim_aligned: 0};
  const sources = Array(1000).fill({header_from: 'a.test', source_ip: '192.0.2.1', ...sums});
  for (let told = 0; told < count; told += 1000) tell({kind: 'sources', job, sources});
  tell({kind: 'result', job, result: {report_id: 'x', policy_domain: 'a.test', begin: 0, end: 1, bad_rows: 0, sources: []}});
};

const take = (message: ToReader): void => {
  if (message.kind === 'task' && message.task.kind === 'report') report(message.job, message.task.maxUnpackedBytes);
  if (message.kind === 'task' && message.task.kind === 'spf') act(message.job, message.task.question.sender);
  if (message.kind === 'task' && message.task.kind === 'sign') act(message.job, message.task.keys[0]?.selector ?? '');
  if (message.kind === 'records') tell({kind: 'result', job: message.question, result: 'neutral'});
};

process.stdin.on(
  'data',
  createFrameReader(({message}) => take(message as ToReader), Infinity),
);
process.stdin.on('end', () => process.exit());
confine();
tell({kind: 'ready'});
