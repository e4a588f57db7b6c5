// Delivery of aggregate reports: to whom they may go, and by which route.
import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../../shared/fault.ts';
import {domainPart} from '../../services/dmarc/aggregate-report.ts';
import type {ReportInbox} from '../../services/dmarc/report-inbox.ts';
import type {Delivery, ReportTransport} from '../../services/dmarc/reporter.ts';
import type {Deliver, Route} from '../../services/intake/mail.ts';
import {organizationOf} from '../authentication/dmarc.ts';
import {dmarcLookups} from '../authentication/dmarc-lookups.ts';
import {parseDmarcRecord} from '../authentication/dmarc-record.ts';
import {bytesContent} from '../bytes-content.ts';
import type {Lookup} from '../lookup.ts';
import {foreignRoute} from './foreign-route.ts';
import {createHostAllowance} from './host-allowance.ts';
import {reportMail} from './report-mail.ts';

interface Needs {
  from: string;
  /** The lookups for one report. */
  newLookup(): Lookup;
  deliver: Deliver['deliver'];
  /** Reports to an address at which this cluster reads them stay here. */
  inbox: ReportInbox;
  /** The route to a domain here, or to all others; undefined: by their mail exchangers, with public addresses only. */
  routeTo(domain: string): Omit<Route, 'signFor'> | undefined;
  /** The domain of `from`, when it is one of this cluster that signs. */
  signFor(): Route['signFor'];
  monotonic?: () => number;
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

    async deliver(report, address, xml): Promise<Delivery> {
      if (inbox.isForReports(address)) return kept(inbox, await reportMail({report, xml, from, to: address}), from);
      const domain = domainPart(address).toLowerCase();
      const way = routeTo(domain) ?? (await foreignRoute(domain, newLookup()));
      if (typeof way === 'string') return noWay[way];
      if (!mayGetOne(way.servers.map(({host}) => host)))
        return {state: 'waiting', detail: 'its server has received many reports within a minute', isPostponed: true};
      const bytes = await reportMail({report, xml, from, to: address});
      const signer = signFor();
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
