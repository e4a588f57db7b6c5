// Log lines for what a listener refuses before the content of a mail: at MAIL and at RCPT. A client may cause thousands in a second, so
// their number is bounded, and a line says how many were left out.
import type {SmtpReply} from '../services/intake/mail.ts';
import {loggedText, type MailLog, recipientFacts, verdictOf} from './mail-decision.ts';

export interface EnvelopeRefusal {
  clientIp: string;
  sender: string;
  /** Undefined for mail that was refused at MAIL. */
  recipient: string | undefined;
  reply: SmtpReply;
}

export interface RefusalLog {
  record(refusal: EnvelopeRefusal): void;
  /** Says what was left out so far. */
  flush(): void;
}

/** In a period of one second. */
const maxLines = 50;
const periodMs = 1000;

export const createRefusalLog = (log: Pick<MailLog, 'info' | 'warn'>): RefusalLog => {
  let lines = 0;
  let leftOut = 0;
  let timer: NodeJS.Timeout | undefined;

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    lines = 0;
    if (leftOut > 0) log.warn({left_out: leftOut}, 'more mail was refused before its content than is logged in a second');
    leftOut = 0;
  };

  return {
    flush,
    record({clientIp, sender, recipient, reply}) {
      // The timer starts with the first refusal of a period, so that a quiet listener has none.
      timer ??= setTimeout(flush, periodMs).unref();
      lines += 1;
      if (lines > maxLines) {
        leftOut += 1;
        return;
      }
      const recipients = recipientFacts(recipient === undefined ? [] : [recipient]);
      const outcome = {verdict: verdictOf(reply), reply: `${reply.code} ${loggedText(reply.text)}`};
      const message = recipient === undefined ? 'mail refused at MAIL' : 'recipient refused';
      log.info({client_ip: clientIp, sender: loggedText(sender), ...recipients, ...outcome}, message);
    },
  };
};
