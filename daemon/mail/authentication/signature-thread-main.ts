// The thread that checks signatures. DNS is asked by the node.
import {parentPort} from 'node:worker_threads';
import {bytesContent} from '../bytes-content.ts';
import type {Lookup} from '../lookup.ts';
import {checkSignatures} from '../readers/check-signatures.ts';
import {loadMailauth} from '../readers/mailauth.ts';
import type {FromThread, ToThread} from './signature-protocol.ts';

type Answer = Exclude<ToThread, {check: number}>;

const waiting = new Map<number, (answer: Answer) => void>();
let asked = 0;

const tell = (message: FromThread): void => parentPort?.postMessage(message);

const lookupFor =
  (check: number): Lookup =>
  async (...question) => {
    asked += 1;
    const no = asked;
    const answer = await new Promise<Answer>(resolve => {
      waiting.set(no, resolve);
      tell({check, question: no, asked: question});
    });
    if ('records' in answer) return answer.records;
    throw Object.assign(new Error(answer.code), {code: answer.code});
  };

const check = async (no: number, mail: Uint8Array): Promise<void> => {
  const content = bytesContent(Buffer.from(mail.buffer, mail.byteOffset, mail.byteLength));
  try {
    tell({check: no, result: await checkSignatures(content, lookupFor(no))});
  } catch (error) {
    tell({check: no, error});
  }
};

void loadMailauth().then(() => tell({check: 0}));

parentPort?.on('message', (message: ToThread) => {
  if ('check' in message) void check(message.check, message.mail);
  else {
    waiting.get(message.question)?.(message);
    waiting.delete(message.question);
  }
});
