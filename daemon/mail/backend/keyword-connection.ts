// SMTP connection that offers an additional EHLO keyword. smtp-server has no option for that: only the text of the greeting line in
// its EHLO answer can be set, and line ends in it are removed. The EHLO answer is the only one that smtp-server sends as a list of
// lines. The tests of the gateway fail if a new version changes that.
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
