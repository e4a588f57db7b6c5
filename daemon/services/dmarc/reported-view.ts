// View of the reports that all nodes have received, for people.
import {isIPv4} from 'node:net';
import {ascending} from '../../../shared/collections.ts';
import {maxSources, otherSources} from '../../../shared/dmarc-lists.ts';
import {clientNetwork} from '../../../shared/host-port.ts';
import {maxDomainReporters, maxReporters, type ReportedSources} from '../../../shared/reported-source.ts';
import type {Actor} from '../actor.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {AskAll, Gathered} from '../peers/gather.ts';
import type {Store} from '../ports.ts';
import {findVisible, requireVisible} from './dmarc-view.ts';
import {sumOfCounts} from './received-report.ts';
import type {Reported, ReportedChoice} from './received-store.ts';

/** The reports of one node: this one, or a peer over mutual TLS. */
export interface ReportedNode {
  readonly nodeId: string;
  reported(choice: ReportedChoice, actor: Actor): Promise<Reported>;
}

type SourcesChoice = Omit<ReportedChoice, 'without'>;

export interface ReportedView {
  sources(actor: Actor, choice: SourcesChoice): Promise<Gathered<ReportedSources>>;
}

interface Needs {
  nodes(): ReportedNode[];
  ask: AskAll;
  domains: Pick<DomainDirectory, 'findByName'>;
  /** The name of an address that resolves back to it. Never rejects. */
  nameOf(address: string): Promise<string | undefined>;
}

/** Names are asked for while the caller waits. */
const maxNamed = 100;
const namedWithinMs = 3000;

export const createReportedView = ({nodes, ask, domains, nameOf}: Needs): ReportedView => ({
  async sources(actor, {domain, since, isVerified}) {
    const known = requireVisible(domains, actor, domain);
    const choice = {domain: known.name, since, isVerified};
    const {answers, unreachable} = await ask(nodes(), async node => ({
      node,
      reported: await node.reported({...choice, without: []}, actor),
    }));
    const once = withoutRepeats(answers.map(({answer}) => answer));
    // A report that came to two nodes is counted by the first one.
    const again = await ask(
      once.filter(({repeated}) => repeated.length > 0).map(({node, repeated}) => ({nodeId: node.nodeId, node, repeated})),
      async ({node, repeated}) => node.reported({...choice, without: repeated}, actor),
    );
    const reported = [
      ...once.filter(({repeated}) => repeated.length === 0).map(answer => answer.reported),
      ...again.answers.map(({answer}) => answer),
    ];
    const sources = summed(reported.flatMap(one => one.sources));
    const total = (name: 'count' | 'passed') => reported.reduce((sum, one) => sum + one[name], 0);
    const shown = sources.slice(0, maxSources);
    const names = await namesOf(shown.slice(0, maxNamed), nameOf);
    return {
      result: {
        ...{domain: choice.domain, since, count: total('count'), passed: total('passed')},
        report_count: new Set(reported.flatMap(({digests}) => digests)).size,
        source_count: Math.max(sources.length, ...reported.map(({source_count}) => source_count)),
        reporters: summedReporters(reported.flatMap(({reporters}) => reporters)),
        sources: shown.map(source => ({
          ...source,
          name: names.get(source.source_ip) ?? null,
          network: networkOf(source.source_ip),
        })),
      },
      unreachable: [...unreachable, ...again.unreachable],
    };
  },
});

interface Answered {
  node: ReportedNode;
  reported: Reported;
}

/** `repeated`: reports that a node before it has. */
const withoutRepeats = (answers: readonly Answered[]): (Answered & {repeated: string[]})[] => {
  const seen = new Set<string>();
  return answers.map(answer => {
    const repeated = answer.reported.digests.filter(digest => seen.has(digest));
    for (const digest of answer.reported.digests) seen.add(digest);
    return {...answer, repeated};
  });
};

type Source = Reported['sources'][number];

/** One entry for each address, those with the most mails first. */
const summed = (sources: readonly Source[]): Source[] => {
  const byAddress = new Map<string, Source>();
  for (const source of sources) {
    const known = byAddress.get(source.source_ip);
    byAddress.set(source.source_ip, known ? sumOf(known, source) : source);
  }
  return [...byAddress.values()].toSorted((one, other) => other.count - one.count || ascending(one.source_ip, other.source_ip));
};

const sumOf = (one: Source, other: Source): Source => ({
  source_ip: one.source_ip,
  ...sumOfCounts(one, other),
  reporters: reportersOf([...one.reporters, ...other.reporters]),
});

/** Each node lists those first that report on the most days. */
const summedReporters = (all: Reported['reporters']): Reported['reporters'] => {
  const byName = new Map<string, Reported['reporters'][number]>();
  for (const one of all) {
    const key = `${one.verified} ${one.reporter}`;
    const known = byName.get(key);
    byName.set(key, known ? {...known, count: known.count + one.count, passed: known.passed + one.passed} : one);
  }
  return [...byName.values()].slice(0, maxDomainReporters);
};

const reportersOf = (all: Source['reporters']): Source['reporters'] => {
  const byName = new Map<string, Source['reporters'][number]>();
  for (const {reporter, verified, count} of all) {
    const key = `${verified} ${reporter}`;
    byName.set(key, {reporter, verified, count: (byName.get(key)?.count ?? 0) + count});
  }
  return [...byName.values()].toSorted((one, other) => other.count - one.count).slice(0, maxReporters);
};

const namesOf = async (sources: readonly Source[], nameOf: Needs['nameOf']): Promise<Map<string, string>> => {
  const names = new Map<string, string>();
  const addresses = sources.filter(({source_ip}) => source_ip !== otherSources);
  const asking = addresses.map(async ({source_ip}) => {
    const name = await nameOf(source_ip);
    if (name !== undefined) names.set(source_ip, name);
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, namedWithinMs);
  });
  await Promise.race([Promise.all(asking), late]);
  clearTimeout(timer);
  return new Map(names);
};

/** Address ranges are given out in these at least. */
export const networkOf = (address: string): string =>
  isIPv4(address) ? address.replace(/\.\d+$/, '.0/24') : clientNetwork(address);

interface OwnNeeds {
  nodeId: string;
  store: Pick<Store, 'received'>;
  domains: Pick<DomainDirectory, 'findByName'>;
}

export const createOwnReported = ({nodeId, store: {received}, domains}: OwnNeeds): ReportedNode => ({
  nodeId,
  reported: async (choice, actor) => (findVisible(domains, actor, choice.domain) ? received.reported(choice) : nothing),
});

const nothing: Reported = {digests: [], count: 0, passed: 0, source_count: 0, reporters: [], sources: []};
