// Clients that send hostile mail and judge the form of each answer: some code that is no failure of the node, on a connection that stays.

import type {MailNode} from '../helpers/mail-node.ts';
import {connectPeer, frame, framesOf, type MilterAnswer, type MilterPeer, replyText} from '../helpers/milter.ts';
import {connect, type Reply, type SmtpClient} from '../helpers/smtp-client.ts';
import {type createTally, within} from './hostile.ts';
import type {HostileMail} from './hostile-mail-input.ts';
import {reportRecipient} from './hostile-mail-input.ts';
import type {MailAccount} from './mail-account.ts';

interface Needs {
  node: MailNode;
  /** Path of a socket. */
  milter: string;
  /** Domains that are sent to. */
  domains: {smtp: string; milter: string};
  account: MailAccount;
  answers: ReturnType<typeof createTally>;
}

export interface MailClients {
  /** All mails in one session. */
  overSmtp(mails: readonly HostileMail[]): Promise<void>;
  throughMilter(mails: readonly HostileMail[]): Promise<void>;
  /** Number of mails that a Postfix was told to hold. */
  heldByMilter(): number;
}

export const createMailClients = ({node, milter, domains, account, answers}: Needs): MailClients => {
  let held = 0;
  let milterMails = 0;

  const sendOver = async (client: SmtpClient, mail: HostileMail): Promise<void> => {
    const reply = await transaction(client, mail, domains.smtp);
    answers.add(codeOf(reply));
    const queueId = /queued as (\w+)/.exec(reply.text)?.[1];
    if (reply.code === 250) account.acknowledged(queueId ?? 'no id', mail.recipient === reportRecipient ? 'report' : 'mail');
    else await client.cmd('RSET');
  };

  const sendThrough = async (peer: MilterPeer, mail: HostileMail): Promise<void> => {
    milterMails += 1;
    const said = await dialogue(peer, mail, {domain: domains.milter, queueId: `Hostile${milterMails}`});
    if (said.some(({letter}) => letter === 'q')) held += 1;
    answers.add(verdictOf(said));
  };

  return {
    async overSmtp(mails) {
      const client = await connect(node.smtpPort);
      try {
        await client.cmd('EHLO client.test');
        for (const mail of mails) await answered(sendOver(client, mail), mail);
      } finally {
        client.destroy();
      }
    },
    async throughMilter(mails) {
      const peer = await connectPeer({path: milter});
      try {
        for (const mail of mails) await answered(sendThrough(peer, mail), mail);
      } finally {
        peer.destroy();
      }
    },
    heldByMilter: () => held,
  };
};

/** What goes wrong is reported with the mail that was sent then. */
const answered = async (sending: Promise<void>, mail: HostileMail): Promise<void> =>
  within(sending, 'no answer').catch(error => Promise.reject(new Error(`${error.message} ${shownMail(mail)}`)));

const shownMail = ({sender, recipient, fields, body}: HostileMail): string =>
  `in ${JSON.stringify([sender, recipient, ...fields.map(([name, value]) => `${name}:${value.slice(0, 80)}`), body.slice(0, 80)]).slice(0, 900)}`;

/** Resolves with the reply to the whole mail, or with the first refusal. */
const transaction = async (client: SmtpClient, mail: HostileMail, domain: string): Promise<Reply> => {
  const from = await client.cmd(`MAIL FROM:<${mail.sender}>${mail.parameters}`);
  if (from.code !== 250) return from;
  const to = await client.cmd(`RCPT TO:<${mail.recipient}@${domain}>`);
  if (to.code !== 250) return to;
  const head = mail.fields.map(([name, value]) => `${name}:${value}\r\n`).join('');
  return client.data(Buffer.from(`${head}\r\n${mail.body}`, 'latin1'));
};

/** A client that did nothing but send mail is not told to go (421). */
const codeOf = ({code, text}: Reply): string => {
  if ((code !== 250 && code < 400) || code === 421 || code > 599 || /Local error|SQLITE|\.ts:/.test(text))
    throw new Error(`answered ${code} ${text}`);
  return `${code} ${/^\d\.\d+\.\d+/.exec(text)?.[0] ?? ''}`.trim();
};

/** As Postfix sends it: its folds have line feeds alone, and it ends a mail whose recipient was refused. */
const dialogue = async (
  peer: MilterPeer,
  {sender, recipient, fields, body}: HostileMail,
  {domain, queueId}: {domain: string; queueId: string},
): Promise<MilterAnswer[]> => {
  const {start, recipients, data, content, end} = framesOf({
    from: sender,
    to: [`${recipient}@${domain}`],
    queueId,
    headers: fields.map(([name, value]) => [name, value.replaceAll('\r\n', '\n')]),
    body: Buffer.from(body, 'latin1'),
  });
  peer.write(Buffer.concat([start, ...recipients]));
  const accepted = await peer.answer();
  if (accepted.letter !== 'c') {
    peer.write(frame('A'));
    return [accepted];
  }
  peer.write(data);
  const begun = await peer.answer();
  if (begun.letter !== 'c') return [begun];
  peer.write(Buffer.concat([content, end]));
  return peer.decision();
};

/** What becomes of a mail: accepted, held, discarded, or the code of a refusal. */
const verdictOf = (said: readonly MilterAnswer[]): string => {
  const last = said.at(-1);
  const text = last ? replyText(last) : 'nothing';
  if (!/^([ad]$|[45]\d\d )/.test(text) || /Local error|SQLITE|\.ts:/.test(text)) throw new Error(`the milter answered ${text}`);
  if (said.some(({letter}) => letter === 'q')) return 'milter hold';
  return `milter ${text === 'a' ? 'accept' : text === 'd' ? 'discard' : text.split(' ', 2).join(' ')}`;
};
