// How long the quarantine screen takes from a key press until its frame is written.
// The whole dashboard in ink, drawn on a terminal of 200 × 60 that only takes the time; the API is a list in this process, so that
// what is measured is the dashboard. Ink draws at most 30 frames a second, so the keys are pressed more slowly than that.
import {EventEmitter} from 'node:events';
import {PassThrough} from 'node:stream';
import {setTimeout as sleep} from 'node:timers/promises';
import {render} from 'ink';
import {type Client, clientOver} from '../../cli/client/client.ts';
import type {Answer, Request} from '../../cli/client/transport.ts';
import {processTerminal} from '../../cli/command-line/terminal.ts';
import {createContextStore} from '../../cli/context/context-store.ts';
import {Dashboard} from '../../cli/dashboard/dashboard.tsx';
import {createAppContext} from '../../cli/dashboard/shell/app-context.ts';
import {startLive} from '../../cli/dashboard/shell/live.ts';
import {createTerminalInput} from '../../cli/dashboard/shell/terminal-input.ts';
import {createTheme} from '../../cli/dashboard/shell/theme.ts';
import type {Me} from '../../shared/api-key.ts';
import type {HeldMail} from '../../shared/held-mail.ts';
import {reasons} from '../../shared/reason.ts';
import {permissions} from '../../shared/scopes.ts';

const size = {columns: 200, rows: 60};
const pauseMs = 50;

const me: Me = {
  ...{id: 1, name: 'bench', key_prefix: 'mfk_bench', scope: 'full-admin', rate_limit_per_minute: 6000, domain: null},
  ...{last_used_at: null, expires_at: null, revoked_at: null, created_at: '2026-03-01T00:00:00.000Z'},
  ...{permissions: [...permissions], node_id: 'mx1'},
};

const heldMail = (at: number): HeldMail => ({
  node_id: 'mx1',
  queue_id: `bench${String(at).padStart(9, '0')}`,
  sender: `news${at}@s${at % 200}.example`,
  recipients: [`user${at % 1000}@d${at % 50}.example`],
  subject: at % 5 === 0 ? `Größe und Angebot № ${at} für Sie 漢字` : `Offer number ${at} for you and everybody you know`,
  score: 6 + (at % 90) / 10,
  symbols: ['RBL_EXAMPLE', 'HTML_SHORT_LINK_IMG_1', 'MISSING_MID'],
  reason: reasons[at % reasons.length] ?? 'spam',
  size_bytes: 12_000,
  arrived_at: new Date(1_800_000_000_000 - at * 500).toISOString(),
});

const clientOf = (mails: readonly HeldMail[]): Client =>
  clientOver({
    send: async <T,>({path, query = {}}: Request): Promise<Answer<T>> => {
      const data =
        path === 'mail/quarantine'
          ? mails.slice(Number(query.offset ?? 0), Number(query.offset ?? 0) + Number(query.limit ?? 100))
          : [];
      const value: unknown =
        path === 'cluster/status' ? {local_node_id: 'mx1', local_hostname: 'mx1', peers: [], generated_at: me.created_at} : data;
      return {data: value as T, etag: undefined, totalCount: mails.length, unreachableNodes: []};
    },
    raw: async () => ({body: Buffer.alloc(0), contentType: '', headers: {}}),
    download: async () => (async function* () {})(),
    events: async (_types, signal) =>
      (async function* () {
        await new Promise(resolve => signal.addEventListener('abort', resolve));
      })(),
  });

/** Tells when a frame was written to it. */
const createStdout = () => {
  let onFrame = (): void => undefined;
  const stdout = Object.assign(new EventEmitter(), {
    ...size,
    isTTY: true,
    writable: true,
    write: (text: string, ...rest: unknown[]) => {
      if (text.length > 100) onFrame();
      for (const callback of rest) if (typeof callback === 'function') callback();
      return true;
    },
  });
  const frame = (): Promise<void> =>
    new Promise(resolve => {
      onFrame = resolve;
    });
  return {stdout: stdout as unknown as NodeJS.WriteStream, frame};
};

const createStdin = () =>
  Object.assign(new PassThrough(), {isTTY: true, setRawMode: () => undefined, ref: () => undefined, unref: () => undefined});

/** Each press changes what is on the screen: the keys of a line are pressed in turns. */
const keys: readonly (readonly [name: string, turns: readonly string[], times: number])[] = [
  ['j and k', ['j', 'j', 'k'], 150],
  ['page down and up', ['\x1b[6~', '\x1b[5~'], 100],
  ['space, select', [' '], 150],
  ['G and g', ['G', 'g'], 20],
];

/** Milliseconds from each key press to its frame, by what was pressed, with so many mails held. */
export const measureFrames = async (count: number, share = 1): Promise<Map<string, number[]>> => {
  const client = clientOf(Array.from({length: count}, (_, at) => heldMail(at)));
  const live = startLive(client, Date.now);
  const terminal = {...processTerminal(), env: {}};
  const connection = {baseUrl: new URL('https://bench.invalid'), apiKey: undefined, ca: undefined} as never;
  const app = createAppContext({
    ...{client, connection, clientFor: async () => client, name: 'bench', terminal, contexts: createContextStore(terminal)},
    ...{live, me, theme: createTheme(true), isReadOnly: false},
  });
  const {stdout, frame} = createStdout();
  const stdin = createStdin();
  const input = createTerminalInput(stdin as unknown as NodeJS.ReadStream);
  const nothing = () => undefined;
  const ink = render(
    <Dashboard
      app={app}
      undoMs={5000}
      startScreen="quarantine"
      terminal={stdout}
      input={input}
      guard={{leave: nothing, onResumed: () => nothing} as never}
      onQuit={nothing}
      onSwitch={nothing}
      onReconnect={nothing}
    />,
    {stdout, stdin: input.stdin, exitOnCtrlC: false, patchConsole: false},
  );
  await sleep(1500);
  const all = new Map<string, number[]>();
  for (const [name, turns, times] of keys) {
    const taken: number[] = [];
    for (let time = 0; time < times * share; time += 1) {
      const written = frame();
      const startedAt = performance.now();
      stdin.write(turns[time % turns.length] ?? '');
      await written;
      taken.push(performance.now() - startedAt);
      await sleep(pauseMs);
    }
    all.set(name, taken);
  }
  ink.unmount();
  live.stop();
  return all;
};
