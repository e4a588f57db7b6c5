// Comparison of the records that a domain should have with those in DNS.

import type {DnsRecord} from '../../../shared/domain-dns.ts';
import type {DmarcPolicy} from '../../../shared/mail-authentication.ts';
import type {CheckDns} from '../../services/dns/domain-dns.ts';
import type {WantedRecord} from '../../services/dns/wanted-records.ts';
import {noneIfMissing} from '../authentication/dmarc-lookups.ts';
import {tagsOf} from '../authentication/record-tags.ts';
import type {Lookup} from '../lookup.ts';
import type {CheckSender} from '../readers/check-sender.ts';
import {checkConsent, checkDmarc} from './check-dmarc.ts';
import {checkSpf} from './check-spf.ts';
import {type CheckNeeds, differs, type Finding, missing, named, noAnswer, right, textsOf} from './finding.ts';

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

/** The exchangers must be the nodes, all of them and nothing else; their preferences are the administrator's business. */
const checkMx = async ({facts, lookup, addresses}: CheckNeeds): Promise<Finding> => {
  const records = (await lookup(facts.domain.name, 'MX').catch(noneIfMissing)) as {exchange: string; priority: number}[];
  if (records.length === 0) return missing;

  const found = records.map(({exchange, priority}) => `${priority} ${exchange}.`);
  const exchangers = [...new Set(records.map(({exchange}) => exchange.toLowerCase()))];
  // RFC 7505.
  if (exchangers.every(name => name === '')) return differs(found, 'the record says that the domain takes no mail');

  const known = await addresses;
  const absent = facts.hosts.filter(host => !exchangers.includes(host));
  const foreign = exchangers.filter(name => !facts.hosts.includes(name));
  const lost = facts.hosts.filter(host => exchangers.includes(host) && known.get(host)?.length === 0);
  const faults = [
    ...(absent.length > 0 ? [`without ${named(absent)}`] : []),
    ...(foreign.length > 0 ? [`mail to ${named(foreign)} goes past the filter`] : []),
    ...(lost.length > 0 ? [`no address in DNS: ${named(lost)}`] : []),
  ];
  return faults.length === 0 ? right(found) : differs(found, faults.join('; '));
};

/** RFC 6376 section 3.6.1. */
const checkDkim = async ({name, values: [wanted = '']}: WantedRecord, {lookup}: CheckNeeds): Promise<Finding> => {
  const found = await textsOf(lookup, name);
  const [text, another] = found;
  if (text === undefined) return missing;
  if (another !== undefined) return differs(found, `${found.length} records where there must be one`);
  const [has, needs] = [keyIn(text), keyIn(wanted)];
  if (has.key === '') return differs(found, 'the key is revoked: p is empty');
  if (has.version !== 'DKIM1') return differs(found, 'it is not a DKIM key: v must be DKIM1');
  if (has.kind !== needs.kind) return differs(found, `another kind of key: k must be ${needs.kind}`);
  return has.key === needs.key ? right(found) : differs(found, 'another public key: p does not fit the private key here');
};

const keyIn = (text: string) => {
  const tags = tagsOf(text);
  return {version: tags.get('v') ?? 'DKIM1', kind: tags.get('k') ?? 'rsa', key: tags.get('p')?.replace(/\s/g, '')};
};

/** RFC 8461 section 3.1. Any id is right: the administrator changes it with the policy. */
const checkMtaSts = async ({name}: WantedRecord, {lookup}: CheckNeeds): Promise<Finding> =>
  checkTags(
    (await textsOf(lookup, name)).filter(text => /^v=STSv1[ \t]*;/.test(text)),
    tags => (/^[a-z0-9]{1,32}$/i.test(tags.get('id') ?? '') ? undefined : 'id must be 1 to 32 letters and digits'),
  );

/** RFC 8460 section 3. Any address is right. */
const checkTlsRpt = async ({name}: WantedRecord, {lookup}: CheckNeeds): Promise<Finding> =>
  checkTags(
    (await textsOf(lookup, name)).filter(text => /^v=TLSRPTv1[ \t]*;/.test(text)),
    tags =>
      /^(mailto:[^@]+@.|https:\/\/.)/i.test(tags.get('rua') ?? '') ? undefined : 'rua must be a mailto: or https: address',
  );

const checkTags = (found: string[], faultOf: (tags: ReadonlyMap<string, string>) => string | undefined): Finding => {
  const [text, another] = found;
  if (text === undefined) return missing;
  if (another !== undefined) return differs(found, `${found.length} records, and senders then use none of them`);
  const fault = faultOf(tagsOf(text));
  return fault === undefined ? right(found) : differs(found, fault);
};
