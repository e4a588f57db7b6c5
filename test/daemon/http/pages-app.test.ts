// The pages for recipients, with made-up links behind them.
import {createServer} from 'node:http';
import test, {type ExecutionContext} from 'ava';
import {pino} from 'pino';
import {createPagesApp} from '../../../daemon/http/recipients/pages-app.ts';
import type {LinkView} from '../../../daemon/services/recipients/link-desk.ts';
import type {Links} from '../../../daemon/services/recipients/links.ts';
import {Fault} from '../../../shared/fault.ts';
import {listening} from '../../helpers/listening.ts';
import {pause} from '../../helpers/pause.ts';

const held: LinkView = {
  ...{sender: 'news@shop.test', from: ['news@shop.test'], subject: 'Summer sale', reason: 'spam', size_bytes: 2000},
  ...{address: 'ann@one.test', arrived_at: '2026-03-28T23:30:00.000Z', state: 'held', ended_at: null, action: 'release'},
  ...{requested_at: null, language: 'en', timezone: 'Europe/Berlin'},
};

interface Asking {
  /** Sends the form, as the button does. */
  action?: string;
  client?: string;
}

/** Answers the status and the text of the page for a token. */
const start = async (t: ExecutionContext, links: Partial<Links>) => {
  const app = createPagesApp({
    links: {look: async () => undefined, act: async () => undefined, ...links},
    isProxy: () => true,
    isRemoved: () => false,
    onAnswer: () => {},
    log: pino({level: 'silent'}),
  });
  const port = await listening(t, createServer(app.callback()));
  return async (token: string, {action, client = '192.0.2.1'}: Asking = {}): Promise<{status: number; body: string}> => {
    const answer = await fetch(`http://127.0.0.1:${port}/m/${token}`, {
      redirect: 'manual',
      headers: {'X-Forwarded-For': client},
      ...(action !== undefined && {method: 'POST', body: new URLSearchParams({do: action})}),
    });
    return {status: answer.status, body: await answer.text()};
  };
};

/** A token of the node with the number 1. */
const tokenOf = (n: number): string => `1-${String(n).padStart(22, '0')}`;

const counted = (answers: readonly {status: number}[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const {status} of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

test('ninety recipients behind one address open their links at the same time', async t => {
  let opened = 0;
  const ask = await start(t, {
    async look() {
      opened += 1;
      // No page is answered before all of them were asked for.
      for (let turns = 0; opened < 90 && turns < 300; turns += 1) await pause(10);
      return held;
    },
  });

  const answers = await Promise.all(Array.from({length: 90}, async (_, n) => ask(tokenOf(n))));

  t.deepEqual(counted(answers), {200: 90});
});

test('an address that has guessed sixty times in a minute opens nothing, others do', async t => {
  const ask = await start(t, {look: async token => (token === tokenOf(0) ? held : undefined)});
  const guesses = [];
  for (let n = 1; n <= 70; n += 1) guesses.push(await ask(tokenOf(n)));

  t.deepEqual(counted(guesses), {404: 60, 429: 10});
  t.is((await ask(tokenOf(0))).status, 429);
  t.is((await ask(tokenOf(0), {client: '192.0.2.2'})).status, 200);
});

test('a link is opened thirty times a minute at most, by all clients together', async t => {
  let opened = 0;
  const ask = await start(t, {
    async look() {
      opened += 1;
      return held;
    },
  });
  const answers = [];
  for (let n = 0; n < 300; n += 1) answers.push(await ask(tokenOf(0), {client: `192.0.2.${n % 200}`}));

  t.deepEqual(counted(answers), {200: 30, 429: 270});
  t.is(opened, 30);
});

test('links whose node is away do not count as guesses', async t => {
  const ask = await start(t, {
    async look(token) {
      if (token === tokenOf(0)) return held;
      throw new Fault('node_unreachable', 'the node that has the mail is away');
    },
  });
  const answers = [];
  for (let n = 1; n <= 70; n += 1) answers.push(await ask(tokenOf(n)));

  t.deepEqual(counted(answers), {503: 70});
  t.is((await ask(tokenOf(0))).status, 200);
});
