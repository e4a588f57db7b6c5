// Comparison of the records that a domain should have with those in DNS.
import type {DnsRecord} from '../../../shared/domain-dns.ts';
import type {DmarcPolicy} from '../../../shared/mail-authentication.ts';
import type {CheckDns} from '../../services/dns/domain-dns.ts';
import type {WantedRecord} from '../../services/dns/wanted-records.ts';
import {noneIfMissing} from '../authentication/dmarc-lookups.ts';
import type {Lookup} from '../lookup.ts';
import type {CheckSender} from '../readers/check-sender.ts';
import {checkConsent, checkDmarc} from './check-dmarc.ts';
import {checkMx} from './check-mx.ts';
import {checkSpf} from './check-spf.ts';
import {checkDkim, checkMtaSts, checkTlsRpt} from './check-texts.ts';
import {type CheckNeeds, type Finding, noAnswer} from './finding.ts';

type Checked = Finding & {published?: DmarcPolicy};

/** All questions of one check end when the time of its lookup is over. */
export const createDnsCheck =
  (newLookup: () => Lookup, checkSender: CheckSender): CheckDns =>
  async (wanted, facts) => {
    const lookup = newLookup();
    const addresses = addressesOf(facts.hosts, lookup);
    // Its users handle the failure; there may be none.
    addresses.catch(() => undefined);
    const needs: CheckNeeds = {facts, lookup, addresses, checkSender: async question => checkSender(question, newLookup())};
    const checked = await Promise.all(wanted.map(async record => checkOne(record, needs).catch(unlessAnswered)));
    const published = checked.find(one => one.published !== undefined)?.published;
    return {
      records: wanted.map((record, at): DnsRecord => {
        const {state, found, detail, values = record.values} = checked[at] ?? noAnswer;
        return {...record, values, state, found, detail};
      }),
      published,
    };
  };

const checkOne = async (record: WantedRecord, needs: CheckNeeds): Promise<Checked> => {
  const {kind} = record;
  switch (kind) {
    case 'mx':
      return checkMx(needs);
    case 'spf':
      return checkSpf(record, needs);
    case 'dkim':
      return checkDkim(record, needs);
    case 'dmarc':
      return checkDmarc(record, needs);
    case 'dmarc-consent':
      return checkConsent(record, needs);
    case 'mta-sts':
      return checkMtaSts(record, needs);
    case 'tls-rpt':
      return checkTlsRpt(record, needs);
    default:
      return kind satisfies never;
  }
};

const unlessAnswered = (error: unknown): Checked => {
  if ((error as NodeJS.ErrnoException).code !== 'ETIMEOUT') throw error;
  return noAnswer;
};

const maxAddresses = 8;

const addressesOf = async (hosts: readonly string[], lookup: Lookup): Promise<Map<string, string[]>> => {
  const entries = hosts.map(async (host): Promise<[string, string[]]> => {
    const found = await Promise.all((['A', 'AAAA'] as const).map(async type => lookup(host, type).catch(noneIfMissing)));
    return [host, (found.flat() as string[]).slice(0, maxAddresses)];
  });
  return new Map(await Promise.all(entries));
};
