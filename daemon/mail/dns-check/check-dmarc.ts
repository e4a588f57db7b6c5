// Checks of a DMARC record (RFC 9989) and of the consent to receive reports about another domain (RFC 9990 section 4).
import {comparableAddress, domainOf} from '../../../shared/mail-address.ts';
import type {DmarcPolicy} from '../../../shared/mail-authentication.ts';
import {uriText, type WantedRecord} from '../../services/dns/wanted-records.ts';
import {organizationOf} from '../authentication/dmarc.ts';
import {dmarcLookups} from '../authentication/dmarc-lookups.ts';
import {isDmarcRecord, parseDmarcRecord} from '../authentication/dmarc-record.ts';
import {tagsOf} from '../authentication/record-tags.ts';
import {type CheckNeeds, differs, type Finding, missing, noAnswer, right, textsOf} from './finding.ts';

/** Any policy is right: which one is the administrator's decision. `published` is the policy of a valid record. */
export const checkDmarc = async (
  {name}: WantedRecord,
  {facts: {receiveAt}, lookup}: CheckNeeds,
): Promise<Finding & {published?: DmarcPolicy}> => {
  const found = (await textsOf(lookup, name)).filter(isDmarcRecord);
  const [text, another] = found;
  if (text === undefined) return missing;
  if (another !== undefined) return differs(found, `${found.length} DMARC records, and receivers then use none of them`);
  const record = parseDmarcRecord(found);
  const p = tagsOf(text).get('p');
  if (!record || p?.toLowerCase() !== record.p) return differs(found, 'no valid policy: p must be none, quarantine or reject');

  const wanted = receiveAt.map(comparableAddress);
  const isReported = wanted.length === 0 || record.reportTo.some(address => wanted.includes(comparableAddress(address)));
  const finding = isReported ? right(found) : differs(found, `reports do not go to ${receiveAt[0]}: add it to rua`);
  return {...finding, values: [isReported ? text : withReportsTo(text, receiveAt)], published: record.p};
};

/** The same record with one more address in `rua`. No regular expression for blanks: its time grows with the square of their number. */
const withReportsTo = (text: string, receiveAt: readonly string[]): string => {
  const uri = `mailto:${uriText(receiveAt[0] ?? '')}`;
  const tags = text.split(';');
  const at = tags.findIndex((tag, n) => n > 0 && tag.includes('=') && nameOf(tag) === 'rua');
  const tag = tags[at];
  if (tag === undefined) {
    const end = tags.findLastIndex(one => one.trim() !== '') + 1;
    return `${tags.slice(0, end).join(';').trimEnd()}; rua=${uri}`;
  }
  const value = tag.slice(tag.indexOf('=') + 1).trim();
  const start = tag.slice(0, tag.indexOf('=') + 1);
  return tags.with(at, `${start}${value === '' ? '' : `${value},`}${uri}`).join(';');
};

const nameOf = (tag: string): string => tag.slice(0, tag.indexOf('=')).trim().toLowerCase();

export const checkConsent = async ({name}: WantedRecord, {facts, lookup}: CheckNeeds): Promise<Finding> => {
  const found = (await textsOf(lookup, name)).filter(isDmarcRecord);
  if (found.length > 0) return right(found);

  const lookups = dmarcLookups(lookup);
  const receiver = domainOf(facts.receiveAt[0] ?? '') ?? '';
  const [own, other] = await Promise.all([organizationOf(facts.domain.name, lookups), organizationOf(receiver, lookups)]);
  if (own === undefined || other === undefined) return noAnswer;
  return own === other ? right([], `not needed: both domains belong to ${own}`) : missing;
};
