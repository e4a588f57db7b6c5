// Log lines, and entries of the event log, for what a listener refuses before the content of a mail: at MAIL and at RCPT. A client may cause thousands in a second, so
// their number is bounded, and a line says how many were left out. A client that floods the log does not hide the others: each of them
// has a few lines beyond that.
import {type EnvelopeRefusal, type IntakePort, loggedText, type MailLog, recipientFacts, verdictOf} from './mail-decision.ts';

export interface RefusalLog {
  record(refusal: EnvelopeRefusal): void;
  /** Says what was left out so far. */
  flush(): void;
}

/** In a period of one second: for all clients, and beyond that for clients that have had few. */
const maxLines = 50;
const maxReservedLines = 50;
const fewLines = 5;
const periodMs = 1000;

interface Needs {
  log: Pick<MailLog, 'info' | 'warn'>;
  intake: Pick<IntakePort, 'recordRefusal' | 'leaveOutRefusal'>;
}

export const createRefusalLog = ({log, intake}: Needs): RefusalLog => {
  let lines = 0;
  let reservedLines = 0;
  /** Lines of the period by client: no more clients than lines. */
  const linesOf = new Map<string, number>();
  let leftOut = 0;
  let timer: NodeJS.Timeout | undefined;

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    lines = 0;
    reservedLines = 0;
    linesOf.clear();
    if (leftOut > 0) log.warn({left_out: leftOut}, 'more mail was refused before its content than is logged in a second');
    leftOut = 0;
  };

  const takeLine = (clientIp: string): boolean => {
    const own = linesOf.get(clientIp) ?? 0;
    if (lines < maxLines) lines += 1;
    else if (own < fewLines && reservedLines < maxReservedLines) reservedLines += 1;
    else return false;
    linesOf.set(clientIp, own + 1);
    return true;
  };

  return {
    flush,
    record(refusal) {
      const {client, sender, recipient, reply} = refusal;
      // The timer starts with the first refusal of a period, so that a quiet listener has none.
      timer ??= setTimeout(flush, periodMs).unref();
      if (!takeLine(client.ip)) {
        leftOut += 1;
        intake.leaveOutRefusal();
        return;
      }
      const recipients = recipientFacts(recipient === undefined ? [] : [recipient]);
      const outcome = {verdict: verdictOf(reply), reply: `${reply.code} ${loggedText(reply.text)}`};
      const message = recipient === undefined ? 'mail refused at MAIL' : 'recipient refused';
      log.info({client_ip: client.ip, sender: loggedText(sender), ...recipients, ...outcome}, message);
      intake.recordRefusal(refusal);
    },
  };
};
