// An SMTP connection that offers one keyword more. smtp-server has no option for that: the text of the greeting line is the only part
// of its EHLO answer that can be set, and line ends in it are taken out. That answer is the only one that it sends as a list of
// lines, which the tests of the gateway would notice if a new version changed it.
import type {Socket} from 'node:net';
import type {SMTPServer} from 'smtp-server';
import {SMTPConnection} from 'smtp-server/lib/smtp-connection.js';

export class KeywordConnection extends SMTPConnection {
  readonly #keyword: string | undefined;

  constructor(
    server: SMTPServer,
    socket: Socket,
    {keyword, ...options}: ConstructorParameters<typeof SMTPConnection>[2] & {keyword?: string | undefined},
  ) {
    super(server, socket, options);
    this.#keyword = keyword;
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const isEhlo = code === 250 && Array.isArray(data);
    super.send(code, isEhlo && this.#keyword !== undefined ? [...data, this.#keyword] : data, context);
  }
}
