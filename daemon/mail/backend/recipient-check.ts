// Check whether a server knows a recipient: sends RCPT as if a mail were to follow.

import {formatHostPort} from '../../../shared/host-port.ts';
import type {Route, SmtpReply} from '../../services/intake/mail.ts';
import {isPositive} from '../smtp-reply.ts';
import type {BackendPool} from './backend-pool.ts';

export interface RecipientAnswer {
  verdict: 'known' | 'unknown' | 'unclear';
  /** The reply of the server. */
  reason: string;
}

export interface RecipientCheck {
  /** Never rejects. Concurrent calls about the same address share one request. */
  ask(route: Route, address: string): Promise<RecipientAnswer>;
}

interface Needs {
  pool: Pick<BackendPool, 'openTransaction'>;
  now: () => number;
  /** How long to wait for the server. Postfix waits for 100 s. */
  deadlineMs?: number;
  maxRemembered?: number;
}

const rememberedMs = {known: 300_000, unknown: 60_000};

export const createRecipientCheck = (needs: Needs): RecipientCheck => {
  const {pool, now, deadlineMs = 30_000, maxRemembered = 100_000} = needs;
  const remembered = new Map<string, {answer: RecipientAnswer; until: number}>();
  const asking = new Map<string, Promise<RecipientAnswer>>();

  const remember = (key: string, answer: RecipientAnswer): void => {
    if (answer.verdict === 'unclear') return;
    const oldest = remembered.keys().next();
    if (remembered.size >= maxRemembered && !oldest.done) remembered.delete(oldest.value);
    // Deleted first, because a Map keeps the position of a key, and the newest must be last.
    remembered.delete(key);
    remembered.set(key, {answer, until: now() + rememberedMs[answer.verdict]});
  };

  const askServer = async (route: Route, address: string): Promise<RecipientAnswer> => {
    const isUtf8 = /[^\x00-\x7f]/.test(address);
    const transaction = pool.openTransaction(route, {sender: '', isUtf8, isEightBit: false});
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<SmtpReply>(resolve => {
      timer = setTimeout(() => resolve(noAnswer), deadlineMs);
    });
    const reply = await Promise.race([transaction.rcpt(address), tooLate]);
    clearTimeout(timer);
    transaction.abort();
    return {verdict: verdictOf(reply), reason: `${reply.code} ${reply.text}`};
  };

  return {
    async ask(route, address) {
      // The servers are part of the key, so that new servers of a domain are asked again.
      const key = `${route.servers.map(formatHostPort).join()} ${address}`;
      const found = remembered.get(key);
      if (found && found.until > now()) return found.answer;

      const question = asking.get(key) ?? askServer(route, address).finally(() => asking.delete(key));
      asking.set(key, question);
      const answer = await question;
      remember(key, answer);
      return answer;
    },
  };
};

const noAnswer: SmtpReply = {code: 451, text: '4.4.1 The mail server of this domain does not answer'};

/** Codes of replies to RCPT about the recipient (RFC 5321 section 4.3.2, RFC 7504). */
const recipientCodes = [501, 550, 551, 553, 556];
/** Codes about the sender (RFC 3463 section 3.2). It is empty here, and the server may accept a mail with a real one. */
const aboutSender = /^5\.1\.[78]\b/;

const verdictOf = (reply: SmtpReply): RecipientAnswer['verdict'] => {
  if (isPositive(reply)) return 'known';
  return recipientCodes.includes(reply.code) && !aboutSender.test(reply.text) ? 'unknown' : 'unclear';
};
