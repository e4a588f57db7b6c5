// The whole dashboard in ink, on a terminal whose reads are controlled by the test, with an API that is a function of this
// process.
import {EventEmitter} from 'node:events';
import type {ExecutionContext} from 'ava';
import {render} from 'ink-testing-library';
import {createElement} from 'react';
import type {Client} from '../../../cli/client/client.ts';
import type {Answer, Request} from '../../../cli/client/transport.ts';
import type {Terminal} from '../../../cli/command-line/terminal.ts';
import {Dashboard} from '../../../cli/dashboard/dashboard.tsx';
import {createAppContext} from '../../../cli/dashboard/shell/app-context.ts';
import {startLive} from '../../../cli/dashboard/shell/live.ts';
import type {ScreenName} from '../../../cli/dashboard/shell/screen-names.ts';
import {createTerminalKeys} from '../../../cli/dashboard/shell/terminal-keys.ts';
import {createTheme} from '../../../cli/dashboard/shell/theme.ts';
import {CliError} from '../../../cli/errors.ts';
import {createContextStore} from '../../../cli/files/context-store.ts';
import type {Me} from '../../../shared/api-key.ts';
import {permissionsOf} from '../../../shared/scopes.ts';
import {fakeClient} from '../cli/fake-client.ts';
import {checkedDns, dmarcSummary, reportedSources} from '../cli/sample-answers.ts';
import {domain, key} from '../cli/sample-records.ts';
import {eventually} from '../eventually.ts';
import {clusterOf, peer} from './cluster-records.ts';
import {withoutStyle} from './drawn.ts';
import {fakeInput} from './fake-input.ts';
import {heldMails} from './held-mails.ts';

export interface DrawnDashboard {
  /** Each text is the result of one read of the terminal. */
  send(...reads: string[]): void;
  paste(text: string): void;
  /** Resolves with the screen once it shows that text. */
  shows(what: RegExp | string): Promise<string>;
  /** Number of renders so far. */
  drawings(): number;
  /** Requests to the API, without those that only read. */
  changes: Request[];
}

export interface DrawnOptions {
  screen?: ScreenName;
  isReadOnly?: boolean;
  undoMs?: number;
  columns?: number;
  now?(): number;
  /** Held mails. */
  mailCount?: number;
  /** Answers to requests that only read, by path, in place of those that all tests share. */
  answers?: Record<string, unknown>;
  /** Called for each request that changes something; the request fails with what it throws. */
  onChange?(request: Request): unknown;
}

const answersWith = (mailCount: number): Record<string, unknown> => ({
  domains: [domain],
  [`domains/${domain.id}`]: domain,
  [`domains/${domain.id}/dns`]: checkedDns,
  'dmarc/summary': dmarcSummary,
  'dmarc/sources': reportedSources,
  'auth/api-keys': [key],
  'mail/quarantine': heldMails(mailCount).toReversed(),
  'cluster/status': clusterOf(peer('mx1'), peer('mx2')),
  'mail/quarantine/summary': {count: 0, size_bytes: 0, oldest_arrived_at: null, groups: []},
});

const clientOf = (changes: Request[], {onChange, mailCount = 3, answers: given = {}}: DrawnOptions): Client => {
  const answers = {...answersWith(mailCount), ...given};
  return fakeClient({
    send: async <T>(request: Request): Promise<Answer<T>> => {
      const {method = 'GET', path} = request;
      if (method !== 'GET') changes.push(request);
      const data = method === 'GET' ? (answers[path] ?? []) : onChange?.(request);
      return {data: data as T, etag: undefined, totalCount: mailCount, unreachableNodes: []};
    },
    download: async () => (async function* () {})(),
    events: async (_types, signal) => {
      if (signal.aborted) throw new CliError('ended', 'the test is over');
      return (async function* () {
        await new Promise(resolve => signal.addEventListener('abort', resolve));
      })();
    },
  });
};

export const drawDashboard = async (t: ExecutionContext, options: DrawnOptions = {}): Promise<DrawnDashboard> => {
  const {screen = 'quarantine', isReadOnly = false, undoMs = 60_000, columns = 80, now = Date.now} = options;
  const changes: Request[] = [];
  const client = clientOf(changes, options);
  const live = startLive(client, now);
  const {stdin: none, stdout, stderr} = process;
  const output: Terminal = {env: {}, stdin: none, stdout, stderr, onInterrupt: () => () => undefined};
  const me: Me = {...key, scope: 'full-admin', node_id: 'mx1', permissions: [...permissionsOf('full-admin', {kind: 'all'})]};
  const app = createAppContext({
    ...{client, connection: {} as never, clientFor: async () => client, name: 'test', terminal: output},
    ...{contexts: createContextStore(output), live, me, theme: createTheme(true), isReadOnly, now},
  });

  const typed = fakeInput();
  const input = createTerminalKeys(typed.stream);
  const terminal = Object.assign(new EventEmitter(), {columns, rows: 24}) as NodeJS.WriteStream;
  const nothing = () => undefined;
  const {lastFrame, frames, unmount} = render(
    createElement(Dashboard, {
      ...{app, undoMs, startScreen: screen, input, terminal},
      ...{guard: {onResumed: () => nothing} as never, onQuit: nothing, onSwitch: nothing, onReconnect: nothing},
    }),
  );
  t.teardown(() => {
    unmount();
    live.stop();
  });

  const send = (...reads: string[]): void => {
    for (const read of reads) typed.give(read);
  };
  const shows = async (what: RegExp | string): Promise<string> => {
    const drawn = () => withoutStyle(lastFrame() ?? '');
    try {
      return await eventually(() => (typeof what === 'string' ? drawn().includes(what) : what.test(drawn())) && drawn());
    } catch (error) {
      throw new Error(`the screen does not show ${what}:\n${drawn()}`, {cause: error});
    }
  };
  await shows('q quit');
  return {send, paste: text => send(`\x1b[200~${text}\x1b[201~`), shows, changes, drawings: () => frames.length};
};
