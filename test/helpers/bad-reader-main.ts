// A reader that does what it is told by the sender of a mail, or by the selector of a key.
import {Socket} from 'node:net';
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
});

const act = (job: number, what: string): void => {
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
    case 'ask':
      tell({kind: 'question', job, question: job, name: 'example.com', type: 'TXT'});
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

const take = (message: ToReader): void => {
  if (message.kind === 'task' && message.task.kind === 'spf') act(message.job, message.task.question.sender);
  if (message.kind === 'task' && message.task.kind === 'sign') act(message.job, message.task.keys[0]?.selector ?? '');
  if (message.kind === 'records') tell({kind: 'result', job: message.question, result: 'neutral'});
};

process.stdin.on(
  'data',
  createFrameReader(({message}) => take(message as ToReader), Infinity),
);
process.stdin.on('end', () => process.exit());
tell({kind: 'ready'});
