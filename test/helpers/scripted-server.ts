// An SMTP server with replies scripted by a test, for replies that no proper server sends.
import {createServer, type Socket} from 'node:net';
import type {HostPort} from '../../shared/host-port.ts';
import type {Owner} from './daemon.ts';
import {listening} from './listening.ts';

/** Returns the bytes to send for a command line, or `null` to close the connection; `undefined` sends nothing. */
export type Script = (line: string, socket: Socket) => string | null | undefined;

/** Replies of a server that accepts everything. */
export const politeScript: Script = line => {
  if (line.startsWith('EHLO')) return '250-scripted.test\r\n250 8BITMIME\r\n';
  if (line === 'DATA') return '354 go\r\n';
  if (line === 'QUIT') return '221 bye\r\n';
  return /^(MAIL|RCPT|RSET|NOOP|\.$)/.test(line) ? '250 ok\r\n' : undefined;
};

/** `script` is asked first; where it returns nothing, the server answers politely. */
export const startScriptedServer = async (
  t: Owner,
  script: Script,
  greeting = '220 scripted.test\r\n',
): Promise<{server: HostPort; lines: string[]; connectionCount(): number}> => {
  const lines: string[] = [];
  let connections = 0;
  const server = createServer(socket => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.write(greeting);
    let buffered = '';
    socket.on('data', chunk => {
      const parts = `${buffered}${chunk}`.split('\r\n');
      buffered = parts.pop() ?? '';
      for (const line of parts) {
        lines.push(line);
        const said = script(line, socket);
        const reply = said === undefined ? politeScript(line, socket) : said;
        if (reply === null) socket.destroy();
        else if (reply !== undefined) socket.write(reply);
      }
    });
  });
  return {server: {host: '127.0.0.1', port: await listening(t, server)}, lines, connectionCount: () => connections};
};
