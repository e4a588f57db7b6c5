// JSON lines on stderr. What a mail or a key says stays out of them, also where an error repeats it.
import pino, {type DestinationStream, type Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import {databaseErrorText} from '../store/sqlite/database.ts';
import {type LogLevel, withPriority} from './journal.ts';

/** `isForJournal`: each line begins with its priority. */
export const createLog = (level: string, isForJournal: boolean): Logger => {
  const lines = linesTogether(pino.destination({dest: 2, sync: true}));
  return pino(
    {
      level,
      formatters: {level: label => ({level: label})},
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: {err: describeError},
    },
    isForJournal ? {write: line => lines.write(withPriority(levelOf(line), line))} : lines,
  );
};

/** It is the first member of each line. */
const levelOf = (line: string): LogLevel => (/^\{"level":"(\w+)"/.exec(line)?.[1] ?? 'info') as LogLevel;

/** Lines of one turn of the event loop are one write: mails are done with in groups, and a write takes longer than all else about a line. */
const linesTogether = (destination: DestinationStream): DestinationStream => {
  let lines = '';
  const flush = () => {
    if (lines !== '') destination.write(lines);
    lines = '';
  };
  // However the process ends, short of being killed.
  process.on('exit', flush);
  return {
    write(line) {
      if (lines === '') setImmediate(flush);
      lines += line;
    },
  };
};

/** An error and its causes. */
export const describeError = (error: unknown, depth = 0): unknown => {
  if (!(error instanceof Error)) return String(error);
  const {code} = error as NodeJS.ErrnoException;
  const message = databaseErrorText(error) ?? error.message;
  // What is for a caller to hear is no bug of ours: where it was thrown says nothing that the message does not.
  const stack = error instanceof Fault ? '' : (error.stack ?? '');
  // The stack begins with the message, of any number of lines.
  const start = stack.indexOf(error.message);
  const frames = start < 0 ? '' : stack.slice(start + error.message.length);
  return {
    type: error.name,
    message,
    ...(code !== undefined && {code}),
    ...(stack !== '' && {stack: `${error.name}: ${message}${frames}`}),
    ...(error.cause !== undefined && depth < maxCauses && {cause: describeError(error.cause, depth + 1)}),
  };
};

const maxCauses = 5;
