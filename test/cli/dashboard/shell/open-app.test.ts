import test, {type ExecutionContext} from 'ava';
import type {Client} from '../../../../cli/client/client.ts';
import {openFirstApp} from '../../../../cli/dashboard/shell/open-app.ts';
import {CliError} from '../../../../cli/errors.ts';
import type {Session} from '../../../../cli/session.ts';
import {createFakeTerminal} from '../../../helpers/cli/fake-terminal.ts';

const away = new CliError('unavailable', 'PostgreSQL at db:5432 does not answer\x1b[2J', {retryAfterSeconds: 2});

/** A session with a node that fails with these, and answers then. */
const arrange = (failures: CliError[], interrupts = new EventTarget()) => {
  const terminal = createFakeTerminal({interrupts});
  let asked = 0;
  const client = {
    async me() {
      asked += 1;
      const failure = failures.shift();
      if (failure) throw failure;
      return {data: {id: 7, permissions: []}};
    },
    events: async () => new Promise(() => {}),
  } as unknown as Client;
  const session = {terminal, contexts: {}, clientFor: async () => client} as unknown as Session;
  const connection = {baseUrl: new URL('https://mx1.test:8443')} as Parameters<typeof openFirstApp>[1]['connection'];
  const open = async (t: ExecutionContext, pauseMs: number) => {
    const app = await openFirstApp({session, isReadOnly: false, isColour: false}, {name: 'mx1', connection}, pauseMs);
    t.teardown(app.live.stop);
    return app;
  };
  return {open, terminal, interrupts, asked: () => asked};
};

test('a dashboard that is started while the database is away says so once, and opens when it is back', async t => {
  const {open, terminal, asked} = arrange([away, away, away]);
  const app = await open(t, 1);

  t.is(app.name, 'mx1');
  t.is(asked(), 4);
  t.is(terminal.err().split('\n').length, 2);
  t.regex(terminal.err(), /^mx1: PostgreSQL at db:5432 does not answer.*; waiting, Ctrl-C ends it\n$/);
  t.false(terminal.err().includes('\x1b'));
});

test('Ctrl-C ends the wait for the database', async t => {
  const {open, interrupts, asked} = arrange([away]);
  const opening = open(t, 3_600_000);
  const failure = t.throwsAsync(opening, {instanceOf: CliError});
  while (asked() === 0) await new Promise(resolve => setImmediate(resolve));
  await new Promise(resolve => setImmediate(resolve));
  interrupts.dispatchEvent(new Event('interrupt'));

  t.is((await failure)?.code, 'interrupted');
});

test('a node that refuses the key, or was removed from its cluster, is not waited for', async t => {
  const refused = arrange([new CliError('key_invalid', 'no such key')]);
  const removed = arrange([new CliError('unavailable', 'removed', {retryAfterSeconds: 3600})]);

  t.is((await t.throwsAsync(refused.open(t, 1), {instanceOf: CliError}))?.code, 'key_invalid');
  t.is((await t.throwsAsync(removed.open(t, 1), {instanceOf: CliError}))?.code, 'unavailable');
});
