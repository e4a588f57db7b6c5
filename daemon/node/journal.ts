// Lines for the journal of systemd, which reads how much each of them matters from its beginning (sd-daemon(3)) and takes that off.
import {fstatSync} from 'node:fs';

/** Those of syslog, by the level of a log line. */
const priorities = {fatal: 2, error: 3, warn: 4, info: 6, debug: 7, trace: 7} as const;

export type LogLevel = keyof typeof priorities;

/** Whether standard error is the journal. What a service starts has its variable too, and often another standard error (systemd.exec(5)). */
export const isJournal = ({JOURNAL_STREAM: stream}: NodeJS.ProcessEnv): boolean => {
  if (stream === undefined) return false;
  const {dev, ino} = fstatSync(2, {bigint: true});
  return stream === `${dev}:${ino}`;
};

export const withPriority = (level: LogLevel, line: string): string => `<${priorities[level]}>${line}`;
