// Many mails over a few kept sessions, as a busy mail server sends them.
import {connect} from './smtp-client.ts';

interface NumberedMail {
  to: string;
  raw: string | Buffer;
}

export interface SendMany {
  port: number;
  count: number;
  /** Mail number n, from 0. */
  mail(n: number): NumberedMail;
  sessions?: number;
  from?: string;
}

/** Servers end a session after a thousand mails. */
const maxMails = 500;

/** Resolves once the last mail is accepted; rejects at the first refusal. */
export const sendMany = async ({port, count, mail, sessions = 8, from = 'ada@example.net'}: SendMany): Promise<void> => {
  let sent = 0;
  const session = async (): Promise<void> => {
    const client = await connect(port);
    try {
      await client.cmd('EHLO client.test');
      for (let brought = 0; sent < count && brought < maxMails; brought += 1) {
        const {to, raw} = mail(sent);
        sent += 1;
        await client.cmd(`MAIL FROM:<${from}>`);
        await client.cmd(`RCPT TO:<${to}>`);
        const {code, text} = await client.data(raw);
        if (code !== 250) throw new Error(`${code} ${text}`);
      }
      await client.cmd('QUIT');
    } finally {
      client.destroy();
    }
  };
  const worker = async (): Promise<void> => {
    do await session();
    while (sent < count);
  };
  await Promise.all(Array.from({length: sessions}, worker));
};
