// Counter of received mail for aggregate reports. A count is in memory for less than a second, then in the store.
import {createHash} from 'node:crypto';
import {Fault} from '../../../shared/fault.ts';
import {comparableAddress} from '../../../shared/mail-address.ts';
import type {Store} from '../ports.ts';
import {type CountedMail, countedMail, type MailCount, type Received} from './counted-mail.ts';

interface Needs {
  store: Pick<Store, 'transaction'>;
  nodeNo: number;
  /** Mail to these addresses is about reports. */
  reportAddresses(): readonly string[];
  /** Called for each mail that is not counted, as too many kinds of them came on its day. */
  onUncounted(): void;
}

interface DayKinds {
  digests: Set<string>;
  /** Their number, by policy domain. */
  bySubject: Map<string, number>;
}

export interface DmarcCounter {
  count(received: Received): void;
  /** Stores what was counted; resolves once it is on stable storage. */
  flush(): Promise<void>;
}

/** The sender chooses most of what makes a kind. One takes 1 KB in the store, or several KB with long names. */
const maxKindsPerDay = 20_000;
/** One report must fit into memory. */
const maxKindsPerSubject = 5000;
/** Today, yesterday, and a day in the future that a wrong clock once had. */
const countedDays = 3;

export const createDmarcCounter = ({store, nodeNo, reportAddresses, onUncounted}: Needs): DmarcCounter => {
  const kinds = new Map<string, DayKinds>();
  let waiting = new Map<string, MailCount>();

  const kindsOf = (day: string): DayKinds => {
    const known = kinds.get(day);
    if (known) return known;
    const made: DayKinds = {digests: new Set(), bySubject: new Map()};
    kinds.set(day, made);
    const oldest = [...kinds.keys()].toSorted()[0];
    if (kinds.size > countedDays && oldest !== undefined) kinds.delete(oldest);
    return made;
  };
  const isCountable = ({day, policy_domain, digest}: MailCount): boolean => {
    const {digests, bySubject} = kindsOf(day);
    if (digests.has(digest)) return true;
    const ofSubject = bySubject.get(policy_domain) ?? 0;
    if (digests.size >= maxKindsPerDay || ofSubject >= maxKindsPerSubject) return false;
    digests.add(digest);
    bySubject.set(policy_domain, ofSubject + 1);
    return true;
  };
  const add = (more: MailCount): void => {
    const known = waiting.get(more.digest);
    waiting.set(more.digest, known ? sumOf(known, more) : more);
  };

  return {
    count(received) {
      const {domain} = received.ownership;
      if (!domain.dmarc_reporting) return;
      const left = new Set(reportAddresses().map(comparableAddress));
      if (received.mail.envelope.recipients.some(one => left.has(comparableAddress(one)))) return;
      const counted = countedMail(received);
      if (!counted) return;
      const {mail, policy} = counted;
      const count = {
        ...mail,
        digest: digestOf(mail),
        count: 1,
        policy: policy ?? null,
        seen_at: received.mail.receivedAt.toISOString(),
      };
      if (isCountable(count)) add(count);
      else onUncounted();
    },

    async flush() {
      if (waiting.size === 0) return;
      const taken = waiting;
      waiting = new Map();
      try {
        await store.transaction(async tx => tx.dmarc.add([...taken.values()], nodeNo));
      } catch (error) {
        // Better too few mails than some counted twice.
        if (!(error instanceof Fault && error.code === 'outcome_unknown')) for (const count of taken.values()) add(count);
        throw error;
      }
    },
  };
};

const sumOf = (one: MailCount, other: MailCount): MailCount => {
  const later = one.seen_at > other.seen_at ? one : other;
  return {...later, count: one.count + other.count};
};

const digestOf = (mail: CountedMail): string =>
  createHash('sha256').update(JSON.stringify(mail)).digest('base64url').slice(0, 22);
