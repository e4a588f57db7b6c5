// View of what all nodes have counted and reported, for people.
import {ascending} from '../../../shared/collections.ts';
import {maxReports, maxSources} from '../../../shared/dmarc-lists.ts';
import type {DmarcReport, DmarcSource, DmarcSummary, ReportPreview} from '../../../shared/dmarc-report.ts';
import type {Domain} from '../../../shared/domain.ts';
import {Fault} from '../../../shared/fault.ts';
import type {Page} from '../../../shared/hold-filter.ts';
import {isWithinAccess} from '../../../shared/scopes.ts';
import type {Actor} from '../actor.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {AskAll, Gathered} from '../peers/gather.ts';
import type {Store} from '../ports.ts';
import {aggregateReport, lastPolicy, type Reporter, reportId} from './aggregate-report.ts';
import type {NodeCount, ReportSubject, StoredReport, Summary} from './dmarc-store.ts';

/** What one node has counted and reported: this one, or a peer over mutual TLS. */
export interface DmarcNode {
  readonly nodeId: string;
  summary(choice: {domain: string; since: string}, actor: Actor): Promise<Summary>;
  /** Newest first, at most `limit`. */
  reports(limit: number, actor: Actor): Promise<{reports: DmarcReport[]; total: number}>;
  counts(subject: ReportSubject, actor: Actor): Promise<NodeCount[]>;
}

export interface DmarcView {
  summary(actor: Actor, choice: {domain: string; since: string}): Promise<Gathered<DmarcSummary>>;
  reports(actor: Actor, page: Page): Promise<Gathered<{reports: DmarcReport[]; total: number}>>;
  preview(actor: Actor, subject: ReportSubject): Promise<Gathered<ReportPreview>>;
}

interface Needs {
  nodes(): DmarcNode[];
  ask: AskAll;
  domains: Pick<DomainDirectory, 'findByName'>;
  /** Undefined on a node that sends no reports. */
  reporter(): Reporter | undefined;
}

export const createDmarcView = ({nodes, ask, domains, reporter}: Needs): DmarcView => ({
  async summary(actor, {domain, since}) {
    requireVisible(domains, actor, domain);
    const {answers, unreachable} = await ask(nodes(), async node => node.summary({domain, since}, actor));
    const sources = summed(answers.flatMap(({answer}) => answer.sources));
    const total = (name: 'count' | 'passed') => answers.reduce((sum, {answer}) => sum + answer[name], 0);
    return {
      result: {
        ...{domain, since, count: total('count'), passed: total('passed')},
        source_count: Math.max(sources.length, ...answers.map(({answer}) => answer.source_count)),
        sources: sources.slice(0, maxSources),
      },
      unreachable,
    };
  },

  async reports(actor, {limit, offset}) {
    if (offset + limit > maxReports)
      throw new Fault(
        'invalid_parameter',
        `limit and offset together must be at most ${maxReports}: the list reaches no further`,
      );
    const {answers, unreachable} = await ask(nodes(), async node => node.reports(offset + limit, actor));
    const reports = answers
      .flatMap(({answer}) => answer.reports)
      .toSorted((one, other) => ascending(other.created_at, one.created_at) || ascending(one.id, other.id));
    const total = answers.reduce((sum, {answer}) => sum + answer.total, 0);
    return {result: {reports: reports.slice(offset, offset + limit), total}, unreachable};
  },

  async preview(actor, subject) {
    const by = reporter();
    if (!by)
      throw new Fault('conflict', 'this node sends no DMARC reports: set dmarc.report_from in mfd.yaml, or an fqdn with a dot');
    const {answers, unreachable} = await ask(nodes(), async node => node.counts(subject, actor));
    const counts = answers.flatMap(({answer}) => answer);
    const policy = lastPolicy(counts);
    if (!policy)
      throw new Fault(
        'not_found',
        `nothing of ${subject.policy_domain} was received on ${subject.day} for a domain that reports`,
      );
    const id = reportId(subject, counts, by);
    return {
      result: {
        ...subject,
        count: counts.reduce((sum, {count}) => sum + count, 0),
        addresses: policy.record.reportTo,
        xml: aggregateReport({id, day: subject.day}, {counts, policy}, by),
      },
      unreachable,
    };
  },
});

/** Undefined for a domain outside the actor's access scope. */
export const findVisible = (domains: Needs['domains'], {reach}: Actor, name: string): Domain | undefined => {
  const domain = domains.findByName(name);
  return domain && isWithinAccess(reach, domain.id) ? domain : undefined;
};

export const requireVisible = (domains: Needs['domains'], actor: Actor, name: string): Domain => {
  const domain = findVisible(domains, actor, name);
  if (!domain) throw new Fault('not_found', `there is no domain ${name}`);
  return domain;
};

/** One entry for each address, those with the most mails first. */
const summed = (sources: readonly DmarcSource[]): DmarcSource[] => {
  const byAddress = new Map<string, DmarcSource>();
  for (const source of sources) {
    const known = byAddress.get(source.source_ip);
    byAddress.set(source.source_ip, known ? sumOf(known, source) : source);
  }
  return [...byAddress.values()].toSorted((one, other) => other.count - one.count || ascending(one.source_ip, other.source_ip));
};

const sumOf = (one: DmarcSource, other: DmarcSource): DmarcSource => ({
  source_ip: one.source_ip,
  count: one.count + other.count,
  spf_aligned: one.spf_aligned + other.spf_aligned,
  dkim_aligned: one.dkim_aligned + other.dkim_aligned,
  passed: one.passed + other.passed,
  held: one.held + other.held,
  rejected: one.rejected + other.rejected,
});

interface OwnNeeds {
  nodeId: string;
  /** The node whose counts are shown as those of this one; undefined for all nodes of a store that they share. */
  origin: number | undefined;
  store: Pick<Store, 'dmarc'>;
  domains: Pick<DomainDirectory, 'findByName'>;
  nodeIdOf(nodeNo: number): string;
}

export const createOwnDmarc = ({nodeId, origin, store: {dmarc}, domains, nodeIdOf}: OwnNeeds): DmarcNode => ({
  nodeId,
  summary: async ({domain, since}, actor) =>
    findVisible(domains, actor, domain) ? dmarc.summary({domain, since, origin}) : nothing,
  async reports(limit) {
    const {reports, total} = await dmarc.listReports({limit, offset: 0});
    return {reports: reports.map(report => shown(report, nodeIdOf(report.holder))), total};
  },
  counts: async subject => dmarc.countsAbout(subject, origin),
});

const nothing: Summary = {count: 0, passed: 0, source_count: 0, sources: []};

const shown = ({holder: _holder, next_at, ...report}: StoredReport, node_id: string): DmarcReport => ({
  node_id,
  ...report,
  next_at: report.state === 'waiting' ? next_at : null,
});
