import type {Decision} from './mail-decision.ts';

/** The part of pino's logger that is used. */
export interface MailLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface MailFacts {
  queueId: string;
  clientIp: string;
  sender: string;
  /** The number of recipients. */
  recipients: number;
}

/** Logs one line for every finished mail, for all listeners. */
export const logDecision = (
  log: MailLog,
  {queueId, clientIp, sender, recipients}: MailFacts,
  {verdict, reply, judgement, cause}: Decision,
): void => {
  const facts = {queue_id: queueId, client_ip: clientIp, sender, recipients, verdict};
  const outcome = {...facts, reply: `${reply.code} ${reply.text}`, ...(judgement && {score: judgement.score})};
  if (cause) log.error({...outcome, err: cause}, 'mail could not be accepted');
  else log.info(outcome, 'mail');
};
