// Knowledge of the clients since a site was last cleared: the answers that senders and callers got, and their open tasks.
import type {MailReference} from '../../shared/held-mail.ts';
import {createLedger, type Ledger, type SentMail} from './ledger.ts';
import type {Random} from './random.ts';
import {heldDomain, relayedDomain, type Site} from './site.ts';

export interface MailToSend extends SentMail {
  to: string;
}

export interface Trial {
  /** Prefix of the names of all its mails and records. */
  name: string;
  ledger: Ledger;
  /** Tokens of all deliveries. */
  delivered: string[];
  /** Mails that can still be acted on, as far as clients know. */
  held: MailReference[];
  /** Ids of mails that several clients act on: all but one may hear that it is claimed, ended or gone. */
  contested: Set<string>;
  /** Keys that were created, by name. */
  keys: Map<string, string>;
  /** Answers that no client should have received. */
  strange: string[];
  /** Nodes that broke off connections. */
  losses: string[];
  /** A number that was not used before. */
  next(): number;
  /** A mail that was not answered, or a new one. */
  nextMail(random: Random): MailToSend;
  unanswered(mail: MailToSend): void;
  /** Records what the backend has received; each mail must equal the sent one byte for byte. */
  noteDeliveries(site: Site): void;
}

/** Larger than the node keeps in memory, and smaller. */
const linesOf = {large: 4000, small: 20};

export const createTrial = (name: string): Trial => {
  const ledger = createLedger();
  const delivered: string[] = [];
  const strange: string[] = [];
  const waiting: MailToSend[] = [];
  let last = 0;

  const next = () => {
    last += 1;
    return last;
  };
  const newMail = (random: Random): MailToSend => {
    const token = `${name}-${next()}`;
    const lines = random.chance(0.03) ? linesOf.large : linesOf.small;
    const isToBeHeld = random.chance(0.75);
    const raw = `Subject: ${token}\r\nMessage-ID: <${token}@sender.test>\r\n\r\n${`${token.padEnd(76, '.')}\r\n`.repeat(lines)}`;
    return {token, raw, isToBeHeld, to: `ben@${isToBeHeld ? heldDomain : relayedDomain}`};
  };

  return {
    name,
    ledger,
    delivered,
    strange,
    held: [],
    contested: new Set(),
    keys: new Map(),
    losses: [],
    next,
    nextMail: random => waiting.shift() ?? newMail(random),
    unanswered: mail => void waiting.push(mail),

    noteDeliveries(site) {
      for (const {content} of site.takeDeliveries()) {
        const token = /^Message-ID: <(.*)@sender\.test>\r$/m.exec(content.subarray(0, 4096).toString('latin1'))?.[1] ?? 'unknown';
        delivered.push(token);
        const raw = ledger.rawOf(token);
        if (raw !== undefined && !content.toString('latin1').endsWith(`\r\n${raw}`))
          strange.push(`${token} was delivered with other bytes than it was sent`);
      }
    },
  };
};
