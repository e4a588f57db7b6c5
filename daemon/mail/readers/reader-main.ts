// The process that reads what strangers wrote. It has nothing but the tasks on its standard input: no key but one that it signs with, no
// store, no environment. DNS is asked by the node. When its input ends, so does the process.
import {Socket} from 'node:net';
import {hasOwn} from '../../../shared/has-own.ts';
import type {ReceivedReport, Unreadable} from '../../services/dmarc/received-report.ts';
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

interface Job extends Extract<ToReader, {kind: 'task'}> {
  /** Of the mail, as far as it has come. */
  chunks: Buffer[];
}

/** Their mail is still to come. */
const jobs = new Map<number, Job>();
const waiting = new Map<number, (answer: Answer) => void>();
let questions = 0;

const lookupFor =
  ({job, known}: Job): Lookup =>
  async (name, type) => {
    const one = known.find(answer => answer.type === type && answer.name === name.toLowerCase());
    if (one) return one.records;
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

const read = async (given: Job, mail: Buffer): Promise<Results[Task['kind']]> => {
  const {job, task} = given;
  const {kind} = task;
  switch (kind) {
    case 'spf':
      return checkSender(task.question, lookupFor(given));
    case 'signatures':
      return checkSignatures(mail, lookupFor(given));
    case 'sign':
      return (await signMail(mail, task.keys)).toString('latin1');
    case 'report': {
      const report = await readReport(mail, task.maxUnpackedBytes);
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

const begin = async (given: Job): Promise<void> => {
  const {job, chunks} = given;
  try {
    tell({kind: 'result', job, result: await read(given, Buffer.concat(chunks))});
  } catch (error) {
    tell({kind: 'error', job, detail: reasonOf(error)});
  }
};

const take = (message: ToReader, bytes: Buffer): void => {
  switch (message.kind) {
    case 'task':
      return void jobs.set(message.job, {...message, chunks: []});
    case 'mail':
      return void jobs.get(message.job)?.chunks.push(bytes);
    case 'end': {
      const job = jobs.get(message.job);
      jobs.delete(message.job);
      if (job) void begin(job);
      return;
    }
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
// Its time begins with the first message, however long loading the code takes.
const [, , purpose] = process.argv;
if (purpose === 'mail') await loadMailauth();
if (purpose === 'sign') await loadSigner();
confine();
tell({kind: 'ready'});
