// Log lines for the journal of systemd, which reads the priority from the start of each line and removes it (sd-daemon(3)).
import {fstatSync} from 'node:fs';

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
