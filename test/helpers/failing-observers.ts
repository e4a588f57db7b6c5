// A log and counters that fail, some at once and some later.
import type {MailLog} from '../../daemon/mail/mail-decision.ts';

const fail = (): never => {
  throw new Error('an observer fails');
};
const failLater = async (): Promise<never> => fail();

export const failingLog: MailLog = {info: fail, warn: failLater, error: fail};

/** In place of what the listeners count with. */
export const failingCounters = {count: fail, recordVerdict: failLater, recordRelay: fail};
