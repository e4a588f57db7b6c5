import type {Decision} from './mail-decision.ts';

/** Pino's, as far as it is used. */
export interface MailLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface MailFacts {
  queueId: string;
  clientIp: string;
  sender: string;
  /** How many. */
  recipients: number;
}

/** One line for every mail that came to its end, whichever door it used. */
export const logDecision = (
  log: MailLog,
  {queueId, clientIp, sender, recipients}: MailFacts,
  {verdict, reply, judgement, cause}: Decision,
): void => {
  const facts = {queue_id: queueId, client_ip: clientIp, sender, recipients, verdict};
  const outcome = {...facts, reply: `${reply.code} ${reply.text}`, ...(judgement && {score: judgement.score})};
  if (cause) log.error({...outcome, err: cause}, 'mail could not be taken');
  else log.info(outcome, 'mail');
};
