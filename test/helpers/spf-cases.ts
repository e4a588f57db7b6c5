// Cases of SPF (RFC 7208): what a domain publishes, who sends, and the result that is right.
import test from 'ava';
import type {Lookup, RecordType} from '../../daemon/mail/lookup.ts';
import {checkSender} from '../../daemon/mail/readers/check-sender.ts';
import type {SpfResult} from '../../shared/mail-authentication.ts';

/** Records of a name by type: one MX is `10 mx.test`, one TXT may be several strings. `silent` names have no answer. */
export type SpfZone = Record<string, Partial<Record<RecordType, (string | string[])[]>> | 'silent'>;

export interface SpfCase {
  /** A sentence that can be false. */
  says: string;
  /** The TXT records of `example.test`, which is the domain of the sender unless `sender` says otherwise. */
  record: string | (string | string[])[];
  zone?: SpfZone;
  ip?: string;
  sender?: string;
  helo?: string;
  result: SpfResult;
}

export const zoneLookup = (zone: SpfZone, asked: string[] = []): Lookup => {
  const byName = new Map(Object.entries(zone).map(([name, records]) => [name.toLowerCase(), records]));
  return async (name, type) => {
    asked.push(`${type} ${name}`);
    const records = byName.get(name.toLowerCase().replace(/\.$/, ''));
    const found = records === 'silent' ? undefined : records?.[type];
    if (found) return found.map(record => recordOf(record, type));
    throw Object.assign(new Error(name), {code: records === 'silent' ? 'ETIMEOUT' : records ? 'ENODATA' : 'ENOTFOUND'});
  };
};

const recordOf = (record: string | string[], type: RecordType): unknown => {
  if (type === 'TXT') return [record].flat();
  if (type !== 'MX' || typeof record !== 'string') return record;
  const [priority, exchange = ''] = record.split(' ');
  return {priority: Number(priority), exchange};
};

export const spfResult = async ({record, zone, ip, sender, helo}: Omit<SpfCase, 'says' | 'result'>, asked?: string[]) =>
  checkSender(
    {ip: ip ?? '192.0.2.1', helo: helo ?? 'mail.example.test', sender: sender ?? 'user@example.test', mta: 'mx.receiver.test'},
    zoneLookup({'example.test': {TXT: [record].flat()}, ...zone}, asked),
  );

/** A test for each case, named after the section of the RFC. */
export const testSpf = (section: string, cases: readonly SpfCase[]): void => {
  for (const {says, result, ...asked} of cases)
    test(`${section}: ${says} (${result})`, async t => {
      t.is(await spfResult(asked), result);
    });
};
