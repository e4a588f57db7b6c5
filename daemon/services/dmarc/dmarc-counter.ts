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
  reportAddresses: readonly string[];
  /** Called for each mail that is not counted, as too many kinds of them came on its day. */
  onUncounted(): void;
}

export interface DmarcCounter {
  count(received: Received): void;
  /** Stores what was counted; resolves once it is on stable storage. */
  flush(): Promise<void>;
}

/** Who sends mail chooses most of what makes a kind. A kind takes about 1 KB in the store. */
const maxKindsPerDay = 50_000;

export const createDmarcCounter = ({store, nodeNo, reportAddresses, onUncounted}: Needs): DmarcCounter => {
  const left = new Set(reportAddresses.map(comparableAddress));
  const kinds = {day: '', digests: new Set<string>()};
  let waiting = new Map<string, MailCount>();

  const isCountable = ({day, digest}: MailCount): boolean => {
    if (day > kinds.day) Object.assign(kinds, {day, digests: new Set()});
    if (kinds.digests.size >= maxKindsPerDay && !kinds.digests.has(digest)) return false;
    kinds.digests.add(digest);
    return true;
  };
  const add = (more: MailCount): void => {
    const known = waiting.get(more.digest);
    waiting.set(more.digest, known ? sumOf(known, more) : more);
  };

  return {
    count(received) {
      const {domain} = received.ownership;
      if (!domain.dmarc_reporting || received.mail.envelope.recipients.some(one => left.has(comparableAddress(one)))) return;
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
        // Rather too few than mail that is counted twice.
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
