// `npm run sink`: an SMTP server that shows the mail it receives and stores nothing. --listen HOST:PORT, 127.0.0.1:2526 by
// default.
import {parseArgs} from 'node:util';
import {formatHostPort, parseHostPort} from '../../shared/host-port.ts';
import {safeBlock, safeLine} from '../../shared/safe-text.ts';
import {type SinkMail, startSmtpSink} from './smtp-sink.ts';

const shownLines = 20;

const show = ({sender, recipients, content}: SinkMail): void => {
  const [header = '', ...rest] = content.toString().split('\r\n\r\n');
  const body = rest.join('\r\n\r\n').trimEnd().split('\r\n');
  const more = body.length > shownLines ? [`… ${body.length - shownLines} more lines`] : [];
  const lines = [
    `── ${new Date().toISOString()}  ${content.length} bytes`,
    `from <${safeLine(sender)}> to ${recipients.map(recipient => `<${safeLine(recipient)}>`).join(', ')}`,
    '',
    safeBlock(header),
    '',
    ...body.slice(0, shownLines).map(safeLine),
    ...more,
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
};

const fail = (message: string, code: number): never => {
  process.stderr.write(`sink: ${message}\n`);
  process.exit(code);
};

const readListen = (): string => {
  try {
    return parseArgs({options: {listen: {type: 'string', default: '127.0.0.1:2526'}}}).values.listen;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error), 2);
  }
};

const text = readListen();
const listen = parseHostPort(text, {allowZero: true}) ?? fail(`--listen takes HOST:PORT, not ${safeLine(text)}`, 2);
try {
  const sink = await startSmtpSink(undefined, {listen, onMail: show});
  process.stdout.write(`sink listens on ${formatHostPort(sink.server)}, Ctrl-C ends it\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0));
} catch (error) {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') fail(`${formatHostPort(listen)} is in use; choose another with --listen HOST:PORT`, 1);
  fail(`cannot listen on ${formatHostPort(listen)}: ${error instanceof Error ? error.message : String(error)}`, 1);
}
