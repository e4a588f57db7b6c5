// Delivery of aggregate reports: to whom they may go, and by which route.

import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../../shared/fault.ts';
import {isPublicAddress} from '../../../shared/public-address.ts';
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
  /** The lookups for one report. */
  newLookup(): Lookup;
  deliver: Deliver['deliver'];
  /** Reports to an address at which this cluster reads them stay here. */
  inbox: ReportInbox;
  /** The route to a domain here, or to all others; undefined: by their mail exchangers, with public addresses only. */
  routeTo(domain: string): Omit<Route, 'signFor'> | undefined;
  /** The domain of the address that a report comes from, when it is one of this cluster that signs. */
  signFor(from: string): Route['signFor'];
  monotonic?: () => number;
  /** How long a server may take for one mail: one that needs longer may want to hold up all of them. */
  withinMs?: number;
}

export const createReportTransport = ({
  newLookup,
  deliver,
  inbox,
  routeTo,
  signFor,
  monotonic = () => performance.now(),
  withinMs = 120_000,
}: Needs): ReportTransport => {
  const mayGetOne = createHostAllowance(monotonic);
  return {
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

    async deliver(report, address, {from, xml}): Promise<Delivery> {
      if (inbox.isForReports(address)) return kept(inbox, await reportMail({report, xml, from, to: address}), from);
      const domain = domainPart(address).toLowerCase();
      const way = routeTo(domain) ?? (await foreignRoute(domain, newLookup()));
      if (typeof way === 'string') return noWay[way];
      if (!mayGetOne(way.servers.map(({host}) => host)))
        return {state: 'waiting', detail: 'its server has received many reports within a minute', isPostponed: true};
      const bytes = await reportMail({report, xml, from, to: address});
      const signer = signFor(from);
      const route = {...way, ...(signer && {signFor: signer})};
      const envelope = {sender: from, recipients: [address], isUtf8: false, isEightBit: false};
      const [result] = await Promise.race([deliver(route, envelope, bytesContent(bytes)), delay(withinMs, [], {ref: false})]);
      if (!result) return {state: 'waiting', detail: 'its server took too long'};
      const detail = `${result.reply.code} ${result.reply.text}`;
      if (result.outcome === 'delivered') return {state: 'sent', detail};
      return {state: result.outcome === 'refused' ? 'refused' : 'waiting', detail};
    },
  };
};

const kept = async (inbox: ReportInbox, mail: Buffer, from: string): Promise<Delivery> => {
  const problem = await inbox.take(bytesContent(mail), {domain: domainPart(from).toLowerCase(), isVerified: true});
  return problem === undefined ? {state: 'sent', detail: 'read by this cluster'} : {state: 'waiting', detail: problem};
};

/** If there is no route to the domain. */
const noWay: Record<Extract<Awaited<ReturnType<typeof foreignRoute>>, string>, Delivery> = {
  'no answer': {state: 'waiting', detail: 'DNS gave no answer'},
  'no address': {state: 'waiting', detail: 'its mail servers have no address'},
  'no mail': {state: 'refused', detail: 'its domain takes no mail'},
  'not public': {state: 'left out', detail: 'its mail servers have no public address'},
};

const isConsent = (text: string): boolean => /^v[ \t]*=[ \t]*DMARC1[ \t]*(;|$)/.test(text);

/**
 * Whether all of the hosts may get one more recipient, which then counts for each of them. Whoever sends mail in many names chooses who
 * receives the reports about them.
 */
type HostAllowance = (hosts: readonly string[]) => boolean;

const allowanceMs = 60_000;
const recipientsAtOnce = 20;

const createHostAllowance = (monotonic: () => number): HostAllowance => {
  const counts = new Map<string, number>();
  let begun = monotonic();
  return hosts => {
    if (monotonic() - begun >= allowanceMs) {
      counts.clear();
      begun = monotonic();
    }
    if (hosts.some(host => (counts.get(host) ?? 0) >= recipientsAtOnce)) return false;
    for (const host of new Set(hosts)) counts.set(host, (counts.get(host) ?? 0) + 1);
    return true;
  };
};

type ForeignRoute = Pick<Route, 'servers'> | 'no answer' | 'no mail' | 'no address' | 'not public';

const maxExchangers = 5;
/** Tried one after another. */
const maxAddresses = 5;

/**
 * By its mail exchangers, or by its own addresses where it has none (RFC 5321 section 5.1). The owner of the domain chose the names, and
 * may have chosen those of machines inside: each name is looked up once, its address is judged, and that address is connected to.
 */
const foreignRoute = async (domain: string, lookup: Lookup): Promise<ForeignRoute> => {
  // Such as `localhost`, of which resolvers do not agree on what there is.
  if (!domain.includes('.')) return 'not public';
  const exchangers = await exchangersOf(domain, lookup).catch(() => undefined);
  if (exchangers === undefined) return 'no answer';
  if (exchangers.length === 0) return 'no mail';
  const found = await Promise.allSettled(exchangers.slice(0, maxExchangers).map(async host => addressesOf(host, lookup)));
  const addresses = new Set(found.flatMap(one => (one.status === 'fulfilled' ? one.value : [])));
  if (addresses.size === 0) return found.some(({status}) => status === 'rejected') ? 'no answer' : 'no address';
  const usable = [...addresses].filter(isPublicAddress).slice(0, maxAddresses);
  return usable.length === 0 ? 'not public' : {servers: usable.map(host => ({host, port: 25}))};
};

/** Empty when it takes no mail: the exchanger `.` says so (RFC 7505). */
const exchangersOf = async (domain: string, lookup: Lookup): Promise<string[]> => {
  const found = (await lookup(domain, 'MX').catch(noneIfMissing)) as {exchange: string; priority: number}[];
  if (found.length === 0) return [domain];
  return found
    .toSorted((one, other) => one.priority - other.priority)
    .map(({exchange}) => exchange)
    .filter(host => host !== '' && host !== '.');
};

const addressesOf = async (host: string, lookup: Lookup): Promise<string[]> =>
  (await Promise.all((['A', 'AAAA'] as const).map(async type => lookup(host, type).catch(noneIfMissing)))).flat() as string[];
