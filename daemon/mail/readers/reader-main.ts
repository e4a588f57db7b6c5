// The process that reads what strangers wrote. It has nothing but the tasks on its standard input: no key but one that it signs with, no
// store, no environment. DNS is asked by the node. When its input ends, so does the process.
import {Socket} from 'node:net';
import {PassThrough} from 'node:stream';
import {buffer} from 'node:stream/consumers';
import {hasOwn} from '../../../shared/has-own.ts';
import type {ReceivedReport, Unreadable} from '../../services/dmarc/received-report.ts';
import type {MailContent} from '../../services/intake/mail.ts';
import type {Lookup} from '../lookup.ts';
import {checkSender} from './check-sender.ts';
import {checkSignatures} from './check-signatures.ts';
import {confine} from './confine.ts';
import {createFrameReader, writeFrame} from './frames.ts';
import {loadMailauth, loadSigner} from './mailauth.ts';
import type {FromReader, Results, Task, ToReader} from './protocol.ts';
import {unpackReport} from './report-attachment.ts';
import {parseReport} from './report-parser.ts';
import {signMail} from './sign-mail.ts';

// Not the standard output, to which packages may print.
const answers = new Socket({fd: 3, writable: true, readable: false});
const tell = (message: FromReader): void => void writeFrame(answers, message);

type Answer = Extract<ToReader, {question: number}>;

const mails = new Map<number, PassThrough>();
const waiting = new Map<number, (answer: Answer) => void>();
let questions = 0;

const lookupFor =
  (job: number): Lookup =>
  async (name, type) => {
    questions += 1;
    const question = questions;
    const answer = await new Promise<Answer>(resolve => {
      waiting.set(question, resolve);
      tell({kind: 'question', job, question, name, type});
    });
    if (answer.kind === 'records') return answer.records;
    throw Object.assign(new Error(answer.code), {code: answer.code});
  };

/** A message of 4 MiB has room for thousands. */
const sourcesInMessage = 1000;

const read = async (job: number, task: Task, content: MailContent): Promise<Results[Task['kind']]> => {
  const {kind} = task;
  switch (kind) {
    case 'spf':
      return checkSender(task.question, lookupFor(job));
    case 'signatures':
      return checkSignatures(content, lookupFor(job));
    case 'sign':
      return (await signMail(content, task.keys)).toString('latin1');
    case 'report': {
      const report = await readReport(await buffer(content.open()), task.maxUnpackedBytes);
      if (!hasOwn(report, 'sources')) return report;
      for (let from = 0; from < report.sources.length; from += sourcesInMessage)
        tell({kind: 'sources', job, sources: report.sources.slice(from, from + sourcesInMessage)});
      return {...report, sources: []};
    }
    default:
      return kind satisfies never;
  }
};

/** Errors of the libraries quote from the mail. */
const maxReasonChars = 200;
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, maxReasonChars);

const readReport = async (mail: Buffer, maxUnpackedBytes: number): Promise<ReceivedReport | Unreadable> => {
  try {
    return await parseReport(unpackReport(mail, {maxUnpackedBytes}));
  } catch (error) {
    return {unreadable: reasonOf(error)};
  }
};

const begin = async (job: number, task: Task): Promise<void> => {
  const mail = new PassThrough();
  mails.set(job, mail);
  try {
    const content = {sizeBytes: 0, open: () => mail, discard: async () => undefined};
    tell({kind: 'result', job, result: await read(job, task, content)});
  } catch (error) {
    tell({kind: 'error', job, detail: reasonOf(error)});
  } finally {
    mails.delete(job);
  }
};

const take = (message: ToReader, bytes: Buffer): void => {
  switch (message.kind) {
    case 'task':
      return void begin(message.job, message.task);
    case 'mail':
      return void mails.get(message.job)?.write(bytes);
    case 'end':
      return void mails.get(message.job)?.end();
    default:
      waiting.get(message.question)?.(message);
      waiting.delete(message.question);
  }
};

process.stdin.on(
  'data',
  createFrameReader(({message, bytes}) => take(message as ToReader, bytes), Infinity),
);
answers.on('error', () => {});
// Its time begins with the first message, whatever it takes to load the code.
const [, , purpose] = process.argv;
if (purpose === 'mail') await loadMailauth();
if (purpose === 'sign') await loadSigner();
confine();
tell({kind: 'ready'});
