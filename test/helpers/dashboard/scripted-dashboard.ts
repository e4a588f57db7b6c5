// A dashboard on a scripted API, for behaviour that healthy nodes do not show.
import type {ServerResponse} from 'node:http';
import type {ExecutionContext} from 'ava';
import type {Me} from '../../../shared/api-key.ts';
import type {ClusterEvent} from '../../../shared/cluster-event.ts';
import type {ClusterStatus} from '../../../shared/cluster-status.ts';
import {permissionsOf, type Scope} from '../../../shared/scopes.ts';
import {key} from '../cli/sample-records.ts';
import {type Received, startApi} from '../cli/scripted-api.ts';
import {startDashboard, type TerminalOptions} from '../terminal.ts';
import {clusterOf, peer} from './cluster-records.ts';

type Answers = Parameters<typeof startApi>[1];

export const me = (scope: Scope): Me => ({...key, scope, node_id: 'mx1', permissions: [...permissionsOf(scope, {kind: 'all'})]});

export interface ScriptedNode {
  answers: Answers;
  /** The stream stays open but sends nothing more. */
  isSilent: boolean;
  /** Sends to all listeners. */
  tell(event: ClusterEvent): void;
  /** The answer to the next request for the status. */
  setStatus(status: ClusterStatus): void;
}

export interface ScriptedNodeOptions {
  scope?: Scope;
  /** Interval of the pings; the interval announced to clients is always one second. */
  pingMs?: number;
}

/** Answers as a healthy cluster does. */
export const scriptedNode = ({scope = 'full-admin', pingMs}: ScriptedNodeOptions = {}): ScriptedNode => {
  const listeners = new Set<ServerResponse>();
  let status = clusterOf(peer('mx1'), peer('mx2'), peer('mx3'));
  const node: ScriptedNode = {
    isSilent: false,
    answers: {
      'GET /auth/me': {data: me(scope)},
      'GET /cluster/status': () => ({data: status}),
      'GET /mail/quarantine/summary': {data: {count: 0, size_bytes: 0, oldest_arrived_at: null, groups: []}},
      'GET /mail/quarantine': {data: [], headers: {'x-total-count': '0'}},
      'GET /auth/api-keys': {data: [key]},
      'GET /events': {
        headers: {'content-type': 'text/event-stream', ...(pingMs !== undefined && {'x-ping-interval': '1'})},
        stream: response => {
          response.flushHeaders();
          listeners.add(response);
          const ping = () => void (node.isSilent || response.write(': ping\n\n'));
          const timer = pingMs === undefined ? undefined : setInterval(ping, pingMs);
          response.on('close', () => {
            clearInterval(timer);
            listeners.delete(response);
          });
        },
      },
    },
    tell: event => {
      for (const response of listeners) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    },
    setStatus: next => {
      status = next;
    },
  };
  node.answers = Object.fromEntries(
    Object.entries(node.answers).map(([name, answer]) => [
      name,
      (request: Received) => {
        if (node.isSilent) return {isHeld: true};
        return typeof answer === 'function' ? answer(request) : answer;
      },
    ]),
  );
  return node;
};

export const startScripted = async (
  t: ExecutionContext,
  answers: Answers,
  args: readonly string[] = [],
  options: TerminalOptions = {},
) => {
  const api = await startApi(t, answers);
  const env = {...api.env, ...options.env};
  const terminal = await startDashboard(t, {xdgConfigHome: api.folder}, args, {...options, env});
  return {api, terminal};
};
