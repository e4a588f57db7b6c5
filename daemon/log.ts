// JSON lines on stderr. What a mail or a key says stays out of them, also where an error repeats it.
import pino, {type Logger} from 'pino';
import {databaseErrorText} from './store/database.ts';

export const createLog = (level: string): Logger =>
  pino(
    {level, timestamp: pino.stdTimeFunctions.isoTime, serializers: {err: describeError}},
    pino.destination({dest: 2, sync: true}),
  );

/** An error and its causes. */
export const describeError = (error: unknown, depth = 0): unknown => {
  if (!(error instanceof Error)) return String(error);
  const {code} = error as NodeJS.ErrnoException;
  const message = databaseErrorText(error) ?? error.message;
  // The stack begins with the message, which may take several lines.
  const frames = error.stack?.split('\n').filter(line => /^ {4}at /.test(line)) ?? [];
  return {
    type: error.name,
    message,
    ...(code !== undefined && {code}),
    stack: [`${error.name}: ${message}`, ...frames].join('\n'),
    ...(error.cause !== undefined && depth < maxCauses && {cause: describeError(error.cause, depth + 1)}),
  };
};

const maxCauses = 5;
