// The pages for recipients, with made-up links behind them.
import {createServer} from 'node:http';
import test, {type ExecutionContext} from 'ava';
import {pino} from 'pino';
import {createPagesApp} from '../../../daemon/http/recipients/pages-app.ts';
import type {LinkView} from '../../../daemon/services/recipients/link-owner.ts';
import type {Links} from '../../../daemon/services/recipients/links.ts';
import {Fault} from '../../../shared/fault.ts';
import {eventually} from '../../helpers/eventually.ts';
import {listening} from '../../helpers/listening.ts';
import {pause} from '../../helpers/pause.ts';

const held: LinkView = {
  ...{sender: 'news@shop.test', from: ['news@shop.test'], subject: 'Summer sale', reason: 'spam', size_bytes: 2000},
  ...{address: 'ann@one.test', arrived_at: '2026-03-28T23:30:00.000Z', state: 'held', ended_at: null, action: 'release'},
  ...{requested_at: null, language: 'en', timezone: 'Europe/Berlin'},
};

type Needs = Parameters<typeof createPagesApp>[0];

interface Asking {
  /** Sends the form, as the button does. */
  action?: string | undefined;
  client?: string;
}

/** Answers the status and the text of the page for a token. */
const start = async (t: ExecutionContext, links: Partial<Links>, differs: Partial<Needs> = {}) => {
  const app = createPagesApp({
    links: {view: async () => undefined, act: async () => undefined, ...links},
    isProxy: () => true,
    isRemoved: () => false,
    noteLinkShown: () => {},
    onAnswer: () => {},
    log: pino({level: 'silent'}),
    ...differs,
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

const tokenOf = (n: number, nodeNo = 1): string => `${nodeNo}-${String(n).padStart(22, '0')}`;

const counted = (answers: readonly {status: number}[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const {status} of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

test('ninety recipients behind one address open their links at the same time', async t => {
  let opened = 0;
  const ask = await start(t, {
    async view() {
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
  const ask = await start(t, {view: async token => (token === tokenOf(0) ? held : undefined)});
  const guesses = [];
  for (let n = 1; n <= 70; n += 1) guesses.push(await ask(tokenOf(n)));

  t.deepEqual(counted(guesses), {404: 60, 429: 10});
  t.is((await ask(tokenOf(0))).status, 429);
  t.is((await ask(tokenOf(0), {client: '192.0.2.2'})).status, 200);
});

test('a link is opened thirty times a minute at most, by all clients together', async t => {
  let opened = 0;
  const ask = await start(t, {
    async view() {
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
    async view(token) {
      if (token === tokenOf(0)) return held;
      throw new Fault('node_unreachable', 'the node that has the mail is away');
    },
  });
  const answers = [];
  for (let n = 1; n <= 70; n += 1) answers.push(await ask(tokenOf(n)));

  t.deepEqual(counted(answers), {503: 70});
  t.is((await ask(tokenOf(0))).status, 200);
});

test('guesses for a node that hangs wait for that node, and keep nobody from links of another one', async t => {
  const hung: ((view: undefined) => void)[] = [];
  const ask = await start(t, {
    async view(token) {
      if (token === tokenOf(0)) return held;
      return new Promise(resolve => hung.push(resolve));
    },
  });
  const guesses = Array.from({length: 420}, async (_, n) => ask(tokenOf(n, 2), {client: `192.0.2.${n % 7}`}));
  await eventually(() => hung.length === 400);

  const links = [await ask(tokenOf(0)), await ask(tokenOf(0), {client: '198.51.100.7'})];
  for (const answer of hung) answer(undefined);

  t.deepEqual(counted(links), {200: 2}, 'from a network of the guesses, and from another one');
  t.deepEqual(counted(await Promise.all(guesses)), {404: 400, 429: 20});
});

test('a client is no stranger once its link was found, before the mail is delivered; a client that guesses is one', async t => {
  const shown: (string | undefined)[] = [];
  const shownBefore: (typeof shown)[] = [];
  const links: Partial<Links> = {
    view: async token => (token === tokenOf(0) ? held : undefined),
    async act() {
      shownBefore.push([...shown]);
      return held;
    },
  };
  const ask = await start(t, links, {noteLinkShown: ({method}) => shown.push(method)});

  for (const action of [undefined, 'release']) {
    await ask(tokenOf(1), {action});
    t.is(shown.length, 0);
  }
  await ask(tokenOf(0), {action: 'release'});
  await ask(tokenOf(0));

  t.deepEqual(shownBefore, [['POST']]);
  t.deepEqual(shown, ['POST', 'GET']);
});

test('a proxy on this host that nobody has named is a line in the log, once', async t => {
  const lines: string[] = [];
  const log = pino({}, {write: line => void lines.push(line)});
  const named = await start(t, {}, {log});
  const unnamed = await start(t, {}, {log, isProxy: () => false});

  await named(tokenOf(0));
  await unnamed(tokenOf(0), {client: 'unknown'});
  t.deepEqual(lines, []);
  for (const n of [0, 1, 2]) await unnamed(tokenOf(n));

  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0] ?? ''), {level: 40, proxy: '127.0.0.1'});
  t.regex(lines[0] ?? '', /recipients\.proxies/);
});

const endedAt = '2026-04-28T07:05:00.000Z';
const moment = '28 Apr 2026, 09:05';

for (const [title, given, heading, text, button] of [
  ['may be released', {}, 'A mail that is held for you', 'you can have it delivered.', 'Deliver this mail to me'],
  [
    ...['may be asked for', {action: 'request'}, 'A mail that is held for you'],
    ...['you can ask an administrator to have it delivered.', 'Ask an administrator for this mail'],
  ],
  [
    ...['was asked for', {action: 'request', requested_at: endedAt}],
    ...['You have asked for this mail', `You asked an administrator for it on ${moment}.`],
  ],
  ['is for an administrator', {action: 'none'}, 'A mail that is held for you', 'Only an administrator can have it delivered.'],
  ['has an old link', {state: 'outdated'}, 'A mail that is held for you', 'This link is too old.'],
  ['was delivered', {state: 'released'}, 'This mail was delivered to you', `This mail was delivered to you on ${moment}.`],
  ['was deleted', {state: 'discarded'}, 'This mail is not held any more', `This mail was deleted on ${moment}.`],
  ['has expired', {state: 'expired'}, 'This mail is not held any more', `This mail was held until ${moment}, and then deleted.`],
  ['is lost', {state: 'lost'}, 'This mail is not held any more', 'This mail cannot be found any more.'],
  ['left Postfix', {state: 'gone'}, 'This mail is not held any more', `This mail has not been held since ${moment}.`],
] as [string, Partial<LinkView>, string, string, string?][])
  test(`the page of a mail that ${title} says so, and its only button does what may be done`, async t => {
    const ended = given.state === undefined ? {} : {action: 'none' as const, ended_at: endedAt};
    const ask = await start(t, {view: async () => ({...held, ...ended, ...given})});

    const {status, body} = await ask(tokenOf(0));

    t.is(status, 200);
    t.true(body.includes(`<h1>${heading}</h1>`), body);
    t.true(body.includes(text), body);
    t.deepEqual(
      [...body.matchAll(/<button>(.*?)<\/button>/g)].map(([, label]) => label),
      button === undefined ? [] : [button],
    );
  });

test('why a mail is held is a sentence in each language', async t => {
  let language: LinkView['language'] = 'en';
  const ask = await start(t, {view: async () => ({...held, reason: 'sandbox', language})});

  t.true((await ask(tokenOf(0))).body.includes('>It has an attachment that may be harmful.<'));
  language = 'de';
  t.true((await ask(tokenOf(0))).body.includes('>Die E-Mail hat einen Anhang, der schädlich sein könnte.<'));
});

const refusal = (code: string) => new Fault('delivery_failed', 'no', {fields: [{path: 'ann@one.test', detail: `${code} no`}]});

for (const [title, action, fault, text, isOfferedAgain] of [
  ['deliver', 'release', refusal('451'), 'The mail could not be delivered now. Nothing is lost: try again later.', true],
  ['deliver to a server that refuses', 'release', refusal('550'), 'Your mail server does not accept this mail.', false],
  ['find out in time', 'release', new Fault('outcome_unknown', 'no answer'), 'It is not known yet whether', false],
  ['ask for', 'request', new Fault('unavailable', 'disk full'), 'Your request could not be recorded now.', true],
  ['ask for in time', 'request', new Fault('outcome_unknown', 'no answer'), 'Your request could not be recorded now.', true],
] as const)
  test(`what the button could not ${title} is said, instead of what it can do`, async t => {
    const ask = await start(t, {
      view: async () => ({...held, action}),
      act: () => Promise.reject(fault),
    });

    const {status, body} = await ask(tokenOf(0), {action});

    t.is(status, 503);
    t.true(body.includes(text), body);
    t.false(body.includes('you can'), body);
    t.is(body.includes('<button>'), isOfferedAgain);
    t.is(body.includes('Open the link again</a>'), fault.code === 'outcome_unknown' && action === 'release');
  });

for (const [code, text] of [
  ['outcome_unknown', 'It is not known yet whether this mail was delivered.'],
  ['node_unreachable', 'The mail could not be delivered now. Nothing is lost'],
] as const)
  test(`after ${code} the page of a mail whose node is gone says what is known of the delivery`, async t => {
    let isGone = false;
    const ask = await start(t, {
      view: async () => (isGone ? Promise.reject(new Fault('node_unreachable', 'the node that has the mail is away')) : held),
      act() {
        isGone = true;
        return Promise.reject(new Fault(code, 'no answer'));
      },
    });

    const {status, body} = await ask(tokenOf(0), {action: 'release'});

    t.is(status, 503);
    t.true(body.includes(text), body);
    t.true(body.includes('Summer sale'), body);
    t.is(body.includes('Nothing is lost'), code === 'node_unreachable');
    t.is(body.includes('<button>'), code === 'node_unreachable');
  });

test('a link that leads to no mail any more after a failed try says so', async t => {
  let isGone = false;
  const ask = await start(t, {
    view: async () => (isGone ? undefined : held),
    act() {
      isGone = true;
      return Promise.reject(new Fault('not_found', 'no mail'));
    },
  });

  t.is((await ask(tokenOf(0), {action: 'release'})).status, 303);
  t.is((await ask(tokenOf(0))).status, 404);
});

test('a request that was recorded though its answer was lost has not failed', async t => {
  const ask = await start(t, {
    view: async () => ({...held, action: 'request', requested_at: endedAt}),
    act: () => Promise.reject(new Fault('outcome_unknown', 'no answer')),
  });

  t.is((await ask(tokenOf(0), {action: 'request'})).status, 303);
});
