// Findings about the cluster, from its status alone.
import type {ClusterStatus, DependencyPart, Peer, Problem} from '../../shared/cluster-status.ts';
import {groupBy} from '../../shared/collections.ts';
import {checkStatuses} from '../errors.ts';
import {briefTimeText, countText, durationWords, plural} from '../output/cell-text.ts';
import {type Drift, defaultDriftSeconds, driftOf} from './cluster-drift.ts';
import {clockComparison, clockProblem, cutOffText, isCutOff, unansweredSeconds, unreachableFrom} from './node-condition.ts';

export interface CheckLimits {
  /** A longer backlog of replication events is a warning. */
  backlog: number;
  driftAgeSeconds: number;
}

export const defaultLimits: CheckLimits = {backlog: 100, driftAgeSeconds: defaultDriftSeconds};

const {warning, critical} = checkStatuses;

export interface Finding {
  status: typeof warning | typeof critical;
  /** With the name of every affected node. */
  text: string;
  /** For one line of a terminal: the reason before the time, which may be cut off. */
  brief?: string;
  /** Those that caused it; none where it is the cluster as a whole. */
  nodes?: readonly string[];
  /** Where to look. */
  hint?: string;
}

/** The worst problem first. */
export const findingsOf = (status: ClusterStatus, limits: CheckLimits = defaultLimits): Finding[] => {
  const {peers} = status;
  return [
    ...cutOffFindings(peers),
    ...healthFindings(peers),
    ...refusalFindings(peers),
    ...silenceFindings(status),
    ...reachFindings(status),
    ...clockFindings(status),
    ...driftFindings(peers, driftOf(status, limits.driftAgeSeconds)),
    ...backlogFindings(peers, limits),
    ...licenseFindings(peers),
    ...authorityFindings(peers),
    ...dmarcFindings(peers),
    ...problemFindings(peers),
  ].sort((a, b) => b.status - a.status);
};

const healthFindings = (peers: readonly Peer[]): Finding[] => {
  const inState = (state: string) => peers.filter(({healthy}) => healthy === state);
  const odd = peers.filter(({healthy}) => healthy !== 'online' && healthy !== 'stale' && healthy !== 'offline');
  return [
    ...(peers.length === 0 ? [{status: critical, text: 'the node knows of no nodes, not even itself'}] : []),
    ...finding(critical, inState('offline'), 'offline'),
    ...finding(warning, inState('stale'), 'stale'),
    ...finding(warning, odd, 'in a state that this program does not know'),
  ];
};

/** First, as it makes all other nodes seem offline. */
const cutOffFindings = (peers: readonly Peer[]): Finding[] =>
  peers.filter(isCutOff).map(peer => ({status: critical, text: cutOffText(peer), nodes: [peer.node_id]}));

/** Changes of that node have not reached all others, a revoked key for example. */
const refusalFindings = (peers: readonly Peer[]): Finding[] =>
  finding(
    critical,
    peers.filter(({outbox_refused}) => outbox_refused),
    'has changes that another node refuses',
  ).map(one => ({...one, hint: 'its log says why'}));

/** Nodes that do not answer while their health is still online. */
const silenceFindings = (status: ClusterStatus): Finding[] =>
  status.peers.flatMap(peer => {
    const seconds = unansweredSeconds(peer, status);
    if (seconds === undefined || peer.healthy !== 'online' || unreachableFrom(peer).length > 0) return [];
    return [{status: warning, text: `no answer from ${peer.node_id} for ${durationWords(seconds)}`, nodes: [peer.node_id]}];
  });

/** Critical when a node will soon refuse the changes of the one that is ahead. */
const clockFindings = ({peers, local_node_id}: ClusterStatus): Finding[] =>
  peers.flatMap(peer => {
    const problem = clockProblem(peer);
    if (problem === undefined) return [];
    const text = `the clock of ${peer.node_id} is ${clockComparison(peer, local_node_id)}`;
    return [{status: checkStatuses[problem], text, nodes: [peer.node_id]}];
  });

/** Heartbeats of that node arrive, but it does not answer: changes reach it late, and its held mail cannot be listed. */
const reachFindings = (status: ClusterStatus): Finding[] =>
  status.peers.flatMap((peer): Finding[] => {
    const {node_id} = peer;
    const from = unreachableFrom(peer);
    if (from.length === 0) return [];
    const others = status.peers.filter(one => one.node_id !== node_id && one.healthy === 'online');
    if (others.every(other => from.includes(other.node_id)))
      return [
        {
          status: critical,
          text: `no node can reach ${node_id} (open its port for nodes, or correct its cluster.advertise)`,
          nodes: [node_id],
        },
      ];
    return [{status: warning, text: `${node_id} cannot be reached from ${from.join(', ')}`, nodes: [node_id]}];
  });

const driftFindings = (peers: readonly Peer[], drift: Drift | undefined): Finding[] => {
  if (!drift?.isAlarm) return [];
  const odd = peers.filter(({node_id}) => drift.oddNodes.includes(node_id));
  return finding(critical, odd, 'configured unlike the rest').map(one => ({
    ...one,
    hint: 'mfctl cluster drift shows what differs',
  }));
};

const backlogFindings = (peers: readonly Peer[], {backlog}: CheckLimits): Finding[] =>
  peers
    .filter(peer => peer.outbox_backlog_to_us > backlog)
    .map(({node_id, outbox_backlog_to_us: count}) => ({
      status: warning,
      text: `${plural(count, 'change')} of ${node_id} not applied yet`,
      nodes: [node_id],
    }));

const licenseFindings = (peers: readonly Peer[]): Finding[] =>
  finding(
    warning,
    peers.filter(({license}) => !license.valid),
    'without a valid licence',
  );

/** No finding while a node that may have the key has not been heard from, or its version does not report it. */
const authorityFindings = (peers: readonly Peer[]): Finding[] =>
  peers.length > 0 && peers.every(({has_authority}) => has_authority === false)
    ? [
        {
          status: warning,
          text: 'no node has tls/ca.key, so certificates expire without being renewed (copy it to tls/ of one node and restart that one)',
        },
      ]
    : [];

/** Nodes of an earlier version do not report it. */
const dmarcFindings = (peers: readonly Peer[]): Finding[] => {
  const told = peers.filter(({dmarc_config}) => typeof dmarc_config === 'string');
  const unset = told.filter(({dmarc_unset}) => dmarc_unset);
  const kinds = new Set(told.map(({dmarc_config}) => dmarc_config));
  return [
    ...finding(
      warning,
      unset,
      'cannot send the DMARC reports that domains want (set an fqdn with a dot, or dmarc.report_from, in mfd.yaml)',
    ),
    ...(kinds.size > 1 ? [{status: warning, text: `dmarc.* differs between ${namesOf(told)}`}] : []),
  ];
};

/** What the nodes depend on and does not work; nodes of an earlier version do not report it, and those that are away not any more. */
const problemFindings = (peers: readonly Peer[]): Finding[] => {
  const known = peers.flatMap(peer => (peer.healthy === 'online' ? (peer.problems ?? []).map(problem => ({peer, problem})) : []));
  return [...groupBy(known, ({problem}) => `${problem.part} ${problem.name}`).values()].map(alike => {
    const problems = alike.map(({problem}) => problem).toSorted((a, b) => (a.since < b.since ? -1 : 1));
    const refuses = problems.some(({refuses_mail}) => refuses_mail);
    const nodes = namesOf(alike.map(({peer}) => peer));
    return {
      status: refuses ? critical : warning,
      text: problemText(problems, nodes, ({since, detail}) => `since ${since} (${detail})`),
      brief: problemText(problems, nodes, ({since, detail}) => `(${detail}) since ${briefTimeText(since)}`),
      nodes: alike.map(({peer}) => peer.node_id),
    };
  });
};

/** `problems`: the same one on several nodes, the longest first. */
const problemText = (problems: readonly Problem[], nodes: string, endOf: (first: Problem) => string): string => {
  const [first] = problems;
  if (!first) return '';
  const {part, name} = first;
  const refuses = problems.some(({refuses_mail}) => refuses_mail);
  const end = endOf(first);
  switch (part as DependencyPart) {
    case 'scanner':
      return `the scanner of ${nodes} unreachable ${end}: ${refuses ? 'mail is answered 451' : 'mail passes without a score'}`;
    case 'backend':
      return `backend ${name} of ${domainsText(problems)} unreachable from ${nodes} ${end}`;
    case 'smarthost':
      return `smarthost ${name} unreachable from ${nodes} ${end}: outbound mail and reports wait`;
    case 'store':
      return `the store of ${nodes} does not work ${end}: mail is answered 451`;
    case 'name_servers':
      return `the name servers of ${nodes} do not answer ${end}: mail is not verified`;
    case 'postfix':
      return `the hold queue of Postfix on ${nodes} cannot be read ${end}`;
    case 'postfix_log':
      return `the log of Postfix on ${nodes} cannot be read ${end}: the trace of mail ends at Postfix`;
    case 'webhook':
      return `webhook ${name} does not get all events of ${nodes} ${end}: mfctl webhook show ${name}`;
    case 'digest':
      if (name === '') return `${nodes} cannot send digests ${end}`;
      return `digests of ${name} do not arrive, says ${nodes} ${end}: mfctl domain digest ${name} --send-now sends those that wait`;
    case 'recipients_url':
      return `recipients.url of ${nodes} does not lead to the pages for recipients ${end}`;
    case 'password_file':
      return `every user of ${nodes} can read the file of ${name} (chmod o-r on that machine)`;
    default:
      return `${[part, name].filter(Boolean).join(' ')} of ${nodes} does not work ${end}`;
  }
};

const namedDomains = 3;

const domainsText = (problems: readonly Problem[]): string => {
  const domains = [...new Set(problems.flatMap(problem => problem.domains))];
  const rest = domains.length - namedDomains;
  return `${domains.slice(0, namedDomains).join(', ')}${rest > 0 ? ` and ${countText(rest)} more` : ''}`;
};

const finding = (status: Finding['status'], peers: readonly Peer[], what: string): Finding[] =>
  peers.length === 0 ? [] : [{status, text: `${namesOf(peers)} ${what}`, nodes: peers.map(({node_id}) => node_id)}];

const namedNodes = 5;

const namesOf = (peers: readonly Peer[]): string => {
  const names = peers.slice(0, namedNodes).map(({node_id}) => node_id);
  const rest = peers.length - names.length;
  return `${names.join(', ')}${rest > 0 ? ` and ${countText(rest)} more` : ''}`;
};
