// Bracketed paste in a real terminal: switched on while the dashboard is open and off at every exit, and the effect of a paste.
import {readFile} from 'node:fs/promises';
import test, {type ExecutionContext} from 'ava';
import {startApi} from '../helpers/cli/scripted-api.ts';
import {clusterOf} from '../helpers/dashboard/cluster-records.ts';
import {heldMails} from '../helpers/dashboard/held-mails.ts';
import {type ScriptedNode, scriptedNode, startScripted} from '../helpers/dashboard/scripted-dashboard.ts';
import {eventually} from '../helpers/eventually.ts';
import {mfctlFile} from '../helpers/program.ts';
import {hasScript, runInTerminal} from '../helpers/pseudo-terminal.ts';
import {isTmuxInstalled} from '../helpers/terminal.ts';

// One dashboard at a time: ten that start at once slow each other down too much.
const inPseudoTerminal = hasScript ? test.serial : test.serial.skip;
const onTerminal = isTmuxInstalled() ? test.serial : test.serial.skip;

interface Running {
  node: ScriptedNode;
  type(keys: string): void;
  signal(name: NodeJS.Signals): void;
  isStopped(): Promise<boolean>;
  /** Continues the terminal, too, which stops together with its program. */
  goOn(): void;
  /** The output so far. */
  output(): string;
}

/** Changes of the mode. A program that is continued twice switches it on twice. */
const switches = (output: string): string[] =>
  [...output.matchAll(/\x1b\[\?2004([hl])/g)]
    .map(([, way]) => (way === 'h' ? 'on' : 'off'))
    .filter((way, at, all) => way !== all[at - 1]);

const runDashboard = async (t: ExecutionContext, act: (running: Running) => Promise<void> | void) => {
  const node = scriptedNode();
  const api = await startApi(t, {...node.answers, 'GET /mail/quarantine': {data: heldMails(2), headers: {'x-total-count': '2'}}});
  let acted: Promise<void> | undefined;
  const run = await runInTerminal(mfctlFile, ['dashboard', '--screen', 'quarantine'], {
    env: {...api.env, XDG_CONFIG_HOME: api.folder},
    onStart: (child, type) => {
      const chunks: Buffer[] = [];
      child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
      const output = () => Buffer.concat(chunks).toString();
      acted = (async () => {
        await eventually(() => output().includes('of 2 mails'));
        const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
        const pid = Number(children.split(' ')[0]);
        await act({
          node,
          type,
          output,
          signal: name => void process.kill(pid, name),
          isStopped: async () => /^\d+ \(.*\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8')),
          goOn: () => {
            for (const stopped of [pid, child.pid ?? pid]) process.kill(stopped, 'SIGCONT');
          },
        });
      })();
      acted.catch(() => child.kill('SIGKILL'));
    },
  });
  await acted;
  return {output: run.output.toString(), requests: api.requests};
};

const waysOut: Record<string, (running: Running) => void> = {
  q: ({type}) => type('q'),
  'ctrl+c': ({type}) => type('\x03'),
  SIGTERM: ({signal}) => signal('SIGTERM'),
  SIGHUP: ({signal}) => signal('SIGHUP'),
  SIGINT: ({signal}) => signal('SIGINT'),
  'a crash': ({type, node}) => {
    node.setStatus({...clusterOf(), peers: [null as never]});
    type('1r');
  },
};
for (const [name, leave] of Object.entries(waysOut))
  inPseudoTerminal(`bracketed paste is off again after ${name} (needs script of util-linux)`, async t => {
    const {output} = await runDashboard(t, leave);

    t.deepEqual(switches(output), ['on', 'off']);
    t.true(output.lastIndexOf('\x1b[?2004l') < output.lastIndexOf('\x1b[?1049l'));
  });

inPseudoTerminal('bracketed paste is off while the dashboard is suspended (needs script of util-linux)', async t => {
  const {output} = await runDashboard(t, async ({signal, isStopped, goOn, type, output: written}) => {
    signal('SIGTSTP');
    await eventually(isStopped);
    await eventually(() => {
      goOn();
      return switches(written()).join() === 'on,off,on';
    });
    type('q');
  });

  t.deepEqual(switches(output), ['on', 'off', 'on', 'off']);
});

inPseudoTerminal(
  'a paste that comes split within its markers, and with keys in it, runs none of them (needs script)',
  async t => {
    const {requests, output} = await runDashboard(t, async ({type, output: written}) => {
      for (const part of ['\x1b[20', '0~D', 'y\r\x1b[31m\x1b[20', '1', '~']) {
        type(part);
        // Written separately; the terminal decides whether they are read separately.
        await new Promise(resolve => setImmediate(resolve));
      }
      await eventually(() => written().includes('does nothing here'));
      type('q');
    });

    t.false(output.includes('Discard 1 mail'));
    t.deepEqual(
      requests.filter(({method}) => method !== 'GET'),
      [],
    );
  },
);

onTerminal('[tmux] what tmux pastes on the quarantine does nothing but say so', async t => {
  const {node, mails} = {node: scriptedNode(), mails: heldMails(2)};
  const answers = {...node.answers, 'GET /mail/quarantine': {data: mails, headers: {'x-total-count': '2'}}};
  const {terminal, api} = await startScripted(t, answers, ['--screen', 'quarantine', '--undo-delay', '0']);
  await terminal.shows('of 2 mails');

  await terminal.paste('Dy');

  const screen = await terminal.shows('Pasted text (2 characters) does nothing here: paste into a text field');
  t.false(screen.includes('Discard 1 mail'));
  t.deepEqual(
    api.requests.filter(({method}) => method !== 'GET'),
    [],
  );
});

onTerminal('[tmux] a list that tmux pastes into the form of a domain becomes one line, and is asked for', async t => {
  const answers = {
    ...scriptedNode().answers,
    'GET /domains': {data: []},
    'POST /domains': {status: 422, error: {code: 'invalid', detail: 'no'}},
  };
  const {terminal, api} = await startScripted(t, answers, ['--screen', 'domains'], {columns: 100});
  await terminal.keys('n');
  await terminal.shows('New domain');

  await terminal.paste('new.example\n');
  await terminal.keys('Tab', 'Tab', 'Tab');
  await terminal.paste('mx1.new.example:25\nmx2.new.example:25\n');
  await terminal.shows('mx1.new.example:25, mx2.new.example:25');
  await terminal.keys('Enter');

  await terminal.shows(/Create the domain new\.example\?[\s\S]*mx1\.new\.example:25, mx2\.new\.example:25/);
  t.false(api.requests.some(({method}) => method === 'POST'));
});
