// Delivery of aggregate reports: to whom they may go, and on which way.
import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../../shared/fault.ts';
import {domainPart} from '../../services/dmarc/aggregate-report.ts';
import type {ReportInbox} from '../../services/dmarc/report-inbox.ts';
import type {Delivery, ReportTransport} from '../../services/dmarc/reporter.ts';
import type {Deliver, Route} from '../../services/intake/mail.ts';
import {organizationOf} from '../authentication/dmarc.ts';
import {dmarcLookups, noneIfMissing} from '../authentication/dmarc-lookups.ts';
import {parseDmarcRecord} from '../authentication/dmarc-record.ts';
import {bytesContent} from '../bytes-content.ts';
import type {Lookup} from '../lookup.ts';
import {reportMail} from './report-mail.ts';

interface Needs {
  from: string;
  /** The lookups for one report. */
  newLookup(): Lookup;
  deliver: Deliver['deliver'];
  /** Reports to an address at which this cluster reads them stay here. */
  inbox: ReportInbox;
  /** The way to a domain here, or to all others; undefined: by their mail exchangers. */
  routeTo(domain: string): Omit<Route, 'signFor'> | undefined;
  /** The domain of `from`, when it is one of this cluster that signs. */
  signFor(): Route['signFor'];
  /** How long a server may take for one mail: one that needs longer may want to hold up all of them. */
  withinMs?: number;
}

export const createReportTransport = ({
  from,
  newLookup,
  deliver,
  inbox,
  routeTo,
  signFor,
  withinMs = 120_000,
}: Needs): ReportTransport => ({
  async destinationOf(address, policyDomain) {
    const host = domainPart(address).toLowerCase();
    const lookups = dmarcLookups(newLookup());
    const [own, other] = await Promise.all([organizationOf(policyDomain, lookups), organizationOf(host, lookups)]);
    if (own === undefined || other === undefined) throw new Fault('unavailable', 'DNS gave no answer');
    if (own === other) return address;
    const texts = await lookups.texts(`${policyDomain}._report._dmarc.${host}`);
    if (!texts.some(isConsent)) return undefined;
    const [instead] = texts.flatMap(text => parseDmarcRecord([text])?.reportTo ?? []);
    if (instead === undefined) return address;
    return domainPart(instead).toLowerCase() === host ? instead : undefined;
  },

  async deliver(report, address, xml): Promise<Delivery> {
    if (inbox.isForReports(address)) return kept(inbox, await reportMail({report, xml, from, to: address}), from);
    const domain = domainPart(address).toLowerCase();
    const servers = routeTo(domain) ?? (await mailExchangers(domain, newLookup()));
    if (servers === undefined) return {state: 'waiting', detail: 'DNS gave no answer'};
    if (servers.servers.length === 0) return {state: 'refused', detail: 'its domain takes no mail'};
    const bytes = await reportMail({report, xml, from, to: address});
    const signer = signFor();
    const route = {...servers, ...(signer && {signFor: signer})};
    const envelope = {sender: from, recipients: [address], isUtf8: false, isEightBit: false};
    const [result] = await Promise.race([deliver(route, envelope, bytesContent(bytes)), delay(withinMs, [], {ref: false})]);
    if (!result) return {state: 'waiting', detail: 'its server took too long'};
    const detail = `${result.reply.code} ${result.reply.text}`;
    if (result.outcome === 'delivered') return {state: 'sent', detail};
    return {state: result.outcome === 'refused' ? 'refused' : 'waiting', detail};
  },
});

const kept = async (inbox: ReportInbox, mail: Buffer, from: string): Promise<Delivery> => {
  const problem = await inbox.take(bytesContent(mail), {domain: domainPart(from).toLowerCase(), isVerified: true});
  return problem === undefined ? {state: 'sent', detail: 'read by this cluster'} : {state: 'waiting', detail: problem};
};

const maxExchangers = 5;

const isConsent = (text: string): boolean => /^v[ \t]*=[ \t]*DMARC1[ \t]*(;|$)/.test(text);

/** RFC 5321 section 5.1; a domain with the exchanger `.` takes no mail (RFC 7505). Undefined when DNS gives no answer. */
const mailExchangers = async (domain: string, lookup: Lookup): Promise<Pick<Route, 'servers'> | undefined> => {
  try {
    const found = (await lookup(domain, 'MX').catch(noneIfMissing)) as {exchange: string; priority: number}[];
    const sorted = found.toSorted((one, other) => one.priority - other.priority).map(({exchange}) => exchange);
    const hosts = found.length === 0 ? [domain] : sorted.filter(host => host !== '' && host !== '.');
    return {servers: hosts.slice(0, maxExchangers).map(host => ({host, port: 25}))};
  } catch {
    return undefined;
  }
};
