// Command `cluster watch`: polls the status and prints what has changed.
import {setTimeout as sleep} from 'node:timers/promises';
import {type Command, InvalidArgumentError} from 'commander';
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import type {Client} from '../client/client.ts';
import {isHopeless} from '../client/follow-events.ts';
import {durationMs} from '../command-line/moment.ts';
import {CliError, onlyCliError} from '../errors.ts';
import {timeOfDay, timeText} from '../output/cell-text.ts';
import {healthTones, type Tone} from '../output/column.ts';
import {createStreamPrinter, type Streamed} from '../output/stream-printer.ts';
import type {Fields} from '../output/table.ts';
import {addEndOptions, createContact, keepWatching, type WatchEnd} from '../output/watching.ts';
import type {Session} from '../session.ts';
import {type Drift, driftOf, shortHash} from './cluster-drift.ts';
import {clockProblem, clockText, isCutOff} from './node-condition.ts';

interface WatchFlags extends WatchEnd {
  interval?: number;
}

type NodeLine = Omit<NodeChange, 'before'> & {change: string};

const driftTones: Record<NodeState['drift'], Tone | undefined> = {none: undefined, differs: 'warn', drift: 'bad'};

const nodeLines = ({fields}: Fields<never>): Streamed<NodeLine> => ({
  fields: ['at', 'changed', 'change', ...fields, 'drift'],
  nameOf: line => line.node_id,
  columns: [
    {title: 'AT', cell: line => timeText(line.at), width: 20, brief: line => timeOfDay(line.at), briefWidth: 9},
    {title: 'NODE', cell: line => line.node_id, width: 10},
    {title: 'HEALTH', cell: line => line.healthy, width: 7, tone: line => healthTones[line.healthy]},
    {title: 'CONFIG', cell: line => shortHash(line.config_hash, 12), wide: line => line.config_hash, width: 12, dropRank: 2},
    {title: 'DRIFT', cell: line => (line.drift === 'none' ? null : line.drift), width: 7, tone: line => driftTones[line.drift]},
    {title: 'BACKLOG', cell: line => line.outbox_backlog_to_us, width: 7, align: 'right'},
    {
      title: 'LICENSE',
      cell: ({license}) => `${license.type} ${license.status}`,
      tone: ({license}) => (license.valid ? undefined : 'bad'),
      width: 16,
      dropRank: 1,
    },
    {title: 'CHANGE', cell: line => line.change, width: 16, isFlexible: true},
  ],
});

export const addWatchCommand = (cluster: Command, session: Session, peerFields: Fields<never>): void => {
  const streamed = nodeLines(peerFields);
  const watch = session
    .prints(cluster.command('watch'), streamed)
    .description('show every node, and each again when something about it changes, until Ctrl-C')
    .option('--interval <duration>', 'time between two polls, at least 1s (default: 5s)', intervalMs);
  addEndOptions(watch)
    .addHelpText('after', help)
    .action((flags: WatchFlags) => watchCluster(session, streamed, flags));
};

const help = `
A change is one of health, configuration, drift, backlog, licence, answer (whether the node answers heartbeats), reach (which nodes do
not reach it), clock (whether it is right), refusal (whether another node refuses its changes) and contact (whether its own certificate
cuts it off), as the answering node sees them. When that node does not answer, mfctl reports it on standard error and keeps watching.

Examples:
  mfctl cluster watch
  mfctl cluster watch --interval 1s --for 10m -o ndjson`;

const watchCluster = (session: Session, streamed: Streamed<NodeLine>, flags: WatchFlags): Promise<void> => {
  const lines = createStreamPrinter(session, streamed);
  const contact = createContact(session.printer(), 'changes in between show now');
  const changes = createClusterChanges();

  return keepWatching(session.terminal, flags, async ({signal, countLine}) =>
    pollStatus(await session.clientFor(await session.connection()), {
      signal,
      intervalMs: flags.interval ?? 5000,
      onFailure: contact.lost,
      async onStatus(status) {
        contact.found();
        for (const {before, ...change} of changes.since(status)) {
          if (signal.aborted) return;
          await lines.print({...change, change: changeText(before, change)});
          countLine();
        }
      },
    }),
  );
};

/** `health online -> stale, backlog 0 -> 12`. */
const changeText = (before: NodeState | undefined, {changed, ...now}: Omit<NodeChange, 'before'>): string =>
  changed
    .map(kind => {
      if (before === undefined || kind === 'seen' || kind === 'removed') return kind === 'removed' ? kind : '';
      return `${kind} ${aspects[kind].text(before)} -> ${aspects[kind].text(now)}`;
    })
    .join(', ');

const intervalMs = (text: string): number => {
  const ms = durationMs(text);
  if (ms < 1000 || ms > 86_400_000) throw new InvalidArgumentError('Must be 1s to 1d.');
  return ms;
};

type DriftState = 'none' | 'differs' | 'drift';

interface NodeState extends Peer {
  /** `differs`: its configuration is not that of most nodes; `drift`: and has not been for too long. */
  drift: DriftState;
}

interface Aspect {
  text(state: NodeState): string | number;
  /** What is compared, where that is not the text. */
  compared?(state: NodeState): unknown;
}

/** What is watched, in the order in which changes are named. */
const aspects = {
  health: {text: state => state.healthy},
  config: {text: state => shortHash(state.config_hash), compared: state => state.config_hash},
  drift: {text: state => state.drift},
  backlog: {text: state => state.outbox_backlog_to_us},
  answer: {text: state => ((state.unanswered_since ?? null) === null ? 'yes' : 'none')},
  reach: {text: state => (state.unreachable_from ?? []).join(', ') || 'all'},
  clock: {text: state => (clockProblem(state) === undefined ? 'right' : clockText(state)), compared: clockProblem},
  refusal: {text: state => (state.outbox_refused ? 'refused' : 'none')},
  contact: {text: state => (isCutOff(state) ? 'cut off' : 'yes')},
  license: {
    text: ({license}) =>
      `${license.type} ${license.status} ${license.valid ? 'valid' : 'invalid'} until ${timeText(license.expires_at)}`,
  },
} satisfies Record<string, Aspect>;

/** `seen` and `removed` concern the node as a whole. */
type ChangeKind = keyof typeof aspects | 'seen' | 'removed';

interface NodeChange extends NodeState {
  /** When the answering node reported it. */
  at: string;
  changed: ChangeKind[];
  /** Undefined for a node that is seen for the first time. */
  before: NodeState | undefined;
}

interface ClusterChanges {
  /** In the order of the nodes; first all of them, then those that changed. */
  since(status: ClusterStatus): NodeChange[];
}

export const createClusterChanges = (): ClusterChanges => {
  let known = new Map<string, NodeState>();
  return {
    since(status) {
      const {peers, generated_at: at} = status;
      const drift = driftOf(status);
      const states = new Map(peers.map(peer => [peer.node_id, {...peer, drift: driftStateOf(peer, drift)}]));
      const changes = [...states.values()].flatMap(state => {
        const before = known.get(state.node_id);
        const changed: ChangeKind[] = before ? changesOf(before, state) : ['seen'];
        return changed.length > 0 ? [{...state, at, changed, before}] : [];
      });
      const gone = [...known.values()].filter(({node_id}) => !states.has(node_id));
      known = states;
      return [...changes, ...gone.map(before => ({...before, at, changed: ['removed'] satisfies ChangeKind[], before}))];
    },
  };
};

const driftStateOf = ({node_id}: Peer, drift: Drift | undefined): DriftState => {
  if (!drift?.oddNodes.includes(node_id)) return 'none';
  return drift.isAlarm ? 'drift' : 'differs';
};

const changesOf = (before: NodeState, now: NodeState): ChangeKind[] =>
  Object.entries<Aspect>(aspects)
    .filter(([, {text, compared = text}]) => compared(before) !== compared(now))
    .map(([kind]) => kind as ChangeKind);

interface StatusPoll {
  signal: AbortSignal;
  intervalMs: number;
  onStatus(status: ClusterStatus): Promise<void>;
  /** The node did not answer, or with an error; polling continues. An error that is thrown here ends it. */
  onFailure(error: CliError): void;
}

/** A slower node counts as hanging. */
const answerWithinMs = 10_000;
const longestWaitMs = 60_000;

/** Polls until `signal` aborts, and rejects then with its reason; with a CliError when a retry cannot help. */
const pollStatus = async (
  client: Pick<Client, 'cluster'>,
  {signal, intervalMs, onStatus, onFailure}: StatusPoll,
): Promise<never> => {
  for (;;) {
    const answer = await client.cluster.status({signal, withinMs: answerWithinMs}).catch(onlyCliError);
    let waitMs = intervalMs;
    if (answer instanceof CliError) {
      if (isHopeless(answer)) throw answer;
      onFailure(answer);
      waitMs = Math.max(waitMs, Math.min((answer.retryAfterSeconds ?? 0) * 1000, longestWaitMs));
    } else await onStatus(answer.data);
    await sleep(waitMs, undefined, {signal});
  }
};
