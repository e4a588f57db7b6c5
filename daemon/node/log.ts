// Log: lines on stderr, of JSON or, on a terminal, for people. They contain no content of mails or keys, even where an error quotes it.

import {fstatSync} from 'node:fs';
import pino, {type Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import {safeLine} from '../../shared/safe-text.ts';
import type {Config} from '../config/schema.ts';
import {unfailing} from '../services/unfailing.ts';
import {postgresErrorText} from '../store/postgres/connection.ts';
import {databaseErrorText} from '../store/sqlite/database.ts';

interface Destination {
  /** Each line begins with its priority. */
  isForJournal: boolean;
  isTerminal: boolean;
}

/** A line that cannot be written is lost without an error. */
export const createLog = ({level, format}: Config['log'], {isForJournal, isTerminal}: Destination): Logger => {
  const write = createLineWriter();
  const isText = format === 'text' || (format === 'auto' && isTerminal && !isForJournal);
  return pino(
    {
      level,
      hooks: {
        logMethod(args, method) {
          unfailing(() => method.apply(this, args))();
        },
      },
      formatters: {level: label => ({level: label})},
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: {err: describeError},
    },
    {
      write(json) {
        const line = isText ? `${textLine(json)}\n` : withoutHidden(json);
        write(isForJournal ? withPriority(levelOf(json), line) : line);
      },
    },
  );
};

interface Line {
  level: string;
  time: string;
  msg?: string;
  [member: string]: unknown;
}

/** A line for people: local time, level, what happened, and the other members as `name=value`. */
export const textLine = (json: string): string => {
  const {level, time, msg = '', pid: _pid, hostname: _hostname, err, ...members} = JSON.parse(json) as Line;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const facts = Object.entries(members).map(([name, value]) => `${name}=${valueText(value)}`);
  const causes = err === undefined ? [] : [`: ${errorText(err)}`];
  return safeLine(`${clock} ${level.padEnd(5)} ${[`${msg}${causes.join('')}`, ...facts].join('  ')}`);
};

const valueText = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(valueText).join(',') || '-';
  if (typeof value === 'string') return /^[^\s"=,]+$/.test(value) ? value : JSON.stringify(value);
  return value === null ? '-' : JSON.stringify(value);
};

/** The messages of an error and its causes, as `describeError` gives them. The stack is in the JSON only. */
const errorText = (err: unknown): string => {
  if (typeof err !== 'object' || err === null) return String(err);
  const {message, cause} = err as {message?: unknown; cause?: unknown};
  return [String(message), ...(cause === undefined ? [] : [errorText(cause)])].join(': ');
};

/** Characters that a terminal obeys or that reorder what is around them. JSON leaves them as they are; C0 controls it escapes itself. */
const hidden = /[\x7f-\x9f\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** The same JSON with escapes: a log is read on terminals, and its texts come from mail. */
const withoutHidden = (json: string): string =>
  json.replace(hidden, char =>
    Array.from({length: char.length}, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );

/** A destination keeps what it cannot write, as on a full disk, without a limit. So after a failure there is a new one. */
const createLineWriter = () => {
  const open = () =>
    pino.destination({dest: 2, sync: true}).on('error', () => {
      lines = open();
    });
  let lines = open();
  return (line: string): void => void lines.write(line);
};

/** The level is the first member of each line. */
const levelOf = (line: string): LogLevel => (/^\{"level":"(\w+)"/.exec(line)?.[1] ?? 'info') as LogLevel;

/** Converts an error and its causes. */
export const describeError = (error: unknown, depth = 0): unknown => {
  if (!(error instanceof Error)) return String(error);
  const {code} = error as NodeJS.ErrnoException;
  const message = databaseErrorText(error) ?? postgresErrorText(error) ?? error.message;
  // A Fault is for callers and not a bug: its stack has no information that the message lacks.
  const stack = error instanceof Fault ? '' : (error.stack ?? '');
  // The stack begins with the message, which may have several lines.
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

/** Syslog priorities by log level. */
const priorities = {fatal: 2, error: 3, warn: 4, info: 6, debug: 7, trace: 7} as const;

export type LogLevel = keyof typeof priorities;

/**
 * Whether standard error is the journal. Child processes of a service inherit the variable, but often have another standard error
 * (systemd.exec(5)).
 */
export const isJournal = ({JOURNAL_STREAM: stream}: NodeJS.ProcessEnv): boolean => {
  if (stream === undefined) return false;
  const {dev, ino} = fstatSync(2, {bigint: true});
  return stream === `${dev}:${ino}`;
};

export const withPriority = (level: LogLevel, line: string): string => `<${priorities[level]}>${line}`;
