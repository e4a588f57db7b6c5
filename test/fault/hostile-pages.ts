// Requests of clients who have links, had them, or guess them: the pages for recipients tell them no more than a link may, and do nothing.

import {connect} from 'node:tls';
import {isDeepStrictEqual} from 'node:util';
import type {MailReference} from '../../shared/held-mail.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {button, pageClient} from '../helpers/page.ts';
import {freePort} from '../helpers/ports.ts';
import {linksOf, startNodeWithPages, tokenOf} from '../helpers/recipient-node.ts';
import type {Fault, FaultContext} from './fault.ts';
import {createTally, exchange, runHostile, shown} from './hostile.ts';
import {type Known, type Link, type PageInput, pageInput} from './hostile-pages-input.ts';
import {memoryFolder} from './memory-folder.ts';
import {createMemoryProbe, type MemoryProbe} from './memory-probe.ts';

export const hostilePages: Fault = {
  name: 'hostile-pages',
  title: 'generated requests for the pages of recipients: no links, links of others, and links without their button',
  rounds: 100_000,
  shortRounds: 1100,
  pass: 'nothing released, requested or told, limits kept, no crash, no undeclared status, memory flat; then the button releases once',

  async run(context) {
    const memory = await createMemoryProbe(context.owner);
    const {alpha, beta, port, url, known, good} = await startPages(context, memory);
    const mailsBefore = alpha.sink.mails.length;
    const before = await statesAt(alpha);
    const watch = createWatch();
    let session: Buffer | undefined;

    const ask = async (input: PageInput): Promise<void> => {
      const localAddress = input.client === 'stranger' ? '127.0.0.2' : '127.0.0.1';
      const options = {host: '127.0.0.1', port, localAddress, rejectUnauthorized: false, ...(session && {session})};
      const socket = connect(options);
      socket.on('session', (next: Buffer) => {
        session = next;
      });
      const {more} = input;
      const sending = more === undefined ? undefined : setInterval(() => socket.write(more), 100);
      const isLeftOpen = input.statuses.length > 0;
      const answer = await exchange(socket, input.bytes, {isLeftOpen}).finally(() => clearInterval(sending));
      watch.judge(input, answer.toString('latin1'));
    };
    const report = await runHostile(context, {
      node: alpha,
      memory,
      concurrency: sessionsAtOnce,
      async session(random) {
        let inputs = 0;
        while (inputs < 8) {
          const input = pageInput(random, known);
          await ask(input);
          inputs += input.inputs;
        }
        return inputs;
      },
      good,
      figures: watch.figures,
    });
    if (!alpha.isRunning()) return report;
    const after = await statesAt(alpha);
    const arrived = alpha.sink.mails.slice(mailsBefore).map(({recipients}) => recipients.join(' '));
    const logs = [alpha, beta].map(node => node.log() + node.stdout()).join('\n');
    const violations = [
      ...report.violations,
      ...watch.violations(),
      ...several('mails changed', changedIn(before, after)),
      ...several('mails arrived', arrived),
      ...several('tokens were logged', watch.tokensIn(logs)),
      ...(await pressOnce(alpha, `${url}/m/${known.opened.token}`, after)),
    ];
    return {...report, violations};
  },
};

const several = (what: string, found: readonly string[]): string[] =>
  found.length === 0 ? [] : [`${found.length} ${what}, such as ${found[0]}`];

type States = ReadonlyMap<string, {recipients: string[]; recipient_states: {address: string; state: string}[]}>;

/** Two nodes that hold mail of three domains, with its links: to be released, to be asked for, and of a domain that was deleted since. */
const startPages = async ({owner, isShort}: FaultContext, memory: MemoryProbe) => {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const cluster = await startCluster(owner, {
    nodes: ['alpha', 'beta'],
    isProxied: false,
    folder: await memoryFolder(owner),
    config: {log: {level: 'debug'}, authentication: {verify: false}, recipients: {url, proxies: ['127.0.0.1']}},
    configOf: {alpha: {recipients: {listen: `127.0.0.1:${port}`}}},
    env: {alpha: memory.env},
  });
  const {alpha, beta} = cluster.nodes;
  const [open, asked, gone] = [
    await withDigest(alpha, 'open.test'),
    await withDigest(alpha, 'asked.test', {actions: {spam: 'request'}}),
    await withDigest(alpha, 'gone.test'),
  ];
  await cluster.converged();

  let number = 0;
  const hold = async (node: ClusterNode, domain: string, others: readonly string[] = []): Promise<MailReference> => {
    const to = [`ann-${number}@${domain}`, ...others.map(other => `${other}-${number}@${domain}`)];
    const sent = {to, subject: `secret-${number}`, from: `hidden-${number}@outside.test`, headers: 'X-Unseen: unseen\r\n'};
    number += 1;
    return node.hold(sent);
  };
  await hold(alpha, 'open.test', ['bob']);
  for (let left = isShort ? 40 : 300; left > 0; left -= 1) await hold(left % 10 === 0 ? beta : alpha, 'open.test');
  for (let left = 10; left > 0; left -= 1) await hold(left % 2 === 0 ? beta : alpha, 'asked.test');
  for (let left = 5; left > 0; left -= 1) await hold(alpha, 'gone.test');

  const linksIn = async (domainId: number, action: Link['action']): Promise<Link[]> =>
    [...(await linksOf({...alpha, domainId}))].map(([subject, link]) => ({
      ...{token: tokenOf(link), action},
      number: Number(subject.replace('secret-', '')),
    }));
  const released = (await linksIn(open, 'release')).sort((a, b) => a.number - b.number);
  const [opened, ...others] = released;
  if (!opened || others.length < 40) throw new Error(`digests had ${released.length} links`);
  const quiet = others.splice(0, others.length / 2);
  const links = [...others, ...(await linksIn(asked, 'request')), ...(await linksIn(gone, 'none'))];
  await alpha.api('DELETE', `domains/${gone}`);

  const known: Known = {opened, links, foreign: await foreignTokens(owner)};
  return {alpha, beta, port, url, known, good: createGoodRecipient(alpha, url, quiet)};
};

const withDigest = async (node: ClusterNode, name: string, settings: object = {}): Promise<number> => {
  const {id} = await node.createDomain({name});
  const {status, body} = await node.api('PUT', `domains/${id}/digest`, {body: {enabled: true, ...settings}});
  if (status !== 200) throw new Error(`${status} ${body}`);
  return id;
};

const foreignTokens = async (owner: FaultContext['owner']): Promise<string[]> => {
  const {node} = await startNodeWithPages(owner);
  for (let n = 0; n < 5; n += 1) await node.hold({to: 'ben@example.com', subject: `foreign ${n}`});
  const tokens = [...(await linksOf(node)).values()].map(tokenOf);
  await node.stop();
  return tokens;
};

/** The proxy names a client that misses nothing. */
const ofRecipient = {'X-Forwarded-For': '203.0.113.1'};

/** Opens links that nobody else has, each less often than its limit permits. */
const createGoodRecipient = ({ca_file}: ClusterNode, url: string, links: readonly Link[]) => {
  const page = pageClient(ca_file);
  let opened = 0;
  return async (): Promise<void> => {
    const {token, number} = links[opened % links.length] as Link;
    opened += 1;
    const {status, body} = await page(`${url}/m/${token}`, {headers: ofRecipient});
    if (status !== 200 || !body.includes(`>secret-${number}<`)) throw new Error(`${status} ${body}`);
  };
};

/** Those of the pages, and 400 of the parser. */
const documented = new Set([100, 200, 204, 303, 400, 404, 405, 429, 503]);
/** See docs/recipients.md. */
const limits = {ofLink: 30, ofClient: 60};
const sessionsAtOnce = 24;
/** A guess counts after its answer, so that those under way when the limit is reached are answered, too. */
const mostMissed = limits.ofClient + sessionsAtOnce - 1;

/** A limit is answered before the form is read, and what comes of it afterwards may reset the connection. */
const unread = ({bytes, more}: PageInput): number => (more !== undefined || bytes.length > 10_000 ? 429 : 0);

const createWatch = () => {
  const startedAt = performance.now();
  const statuses = createTally();
  const sent = new Set<string>();
  const opened = {asked: 0, answered: 0};
  const strange = {asked: 0, missed: 0};

  const count = ({client, isGuess, link}: PageInput, status: number): void => {
    if (link?.number === 0) {
      opened.asked += 1;
      if (status !== 429) opened.answered += 1;
    }
    if (client === 'stranger' && isGuess) {
      strange.asked += 1;
      if (status === 404) strange.missed += 1;
    }
  };

  return {
    /** Throws unless the answer is right, and tells no more than the link of the request does. */
    judge(input: PageInput, answer: string): void {
      const text = input.bytes.toString('latin1');
      for (const [, token = ''] of text.slice(0, 300).matchAll(/\/m\/([\w-]{20,40})/g)) sent.add(token);
      const found = [...answer.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
      const status = found.at(-1) ?? 0;
      statuses.add(String(status));
      count(input, status);
      const isRight =
        input.statuses.length === 0 ? found.every(one => documented.has(one)) : input.statuses.includes(status || unread(input));
      if (!isRight)
        throw new Error(
          `${input.client} was answered ${found.join(' ')} instead of ${input.statuses.join(' or ')} ${shown(input.bytes)}`,
        );
      const told = [...answer.matchAll(/unseen|(?:secret|hidden|ann|bob)-(\d+)|foreign/g)];
      const [wrong] = told.find(([, number]) => Number(number) !== input.link?.number) ?? [];
      if (wrong !== undefined) throw new Error(`told ${wrong} ${shown(input.bytes)}`);
      if (status === 200 && text.startsWith('GET') && told.length === 0) throw new Error(`showed no mail ${shown(input.bytes)}`);
    },
    violations: (): string[] => {
      // What is counted is forgotten every minute, also in the middle of one.
      const minutes = Math.floor((performance.now() - startedAt) / 60_000) + 2;
      return [
        ...(opened.answered > limits.ofLink * minutes
          ? [`a link was answered ${opened.answered} times in ${minutes} minutes`]
          : []),
        ...(strange.missed > mostMissed * minutes ? [`a client missed ${strange.missed} times in ${minutes} minutes`] : []),
        ...(strange.asked <= mostMissed * 2 ? [`a client guessed only ${strange.asked} times`] : []),
      ];
    },
    tokensIn: (log: string): string[] => [...log.matchAll(/[\w-]{20,}/g)].map(([word]) => word).filter(word => sent.has(word)),
    figures: () => ({
      statuses: statuses.text(),
      'one link': `${opened.answered} of ${opened.asked} below its limit`,
      'a stranger': `${strange.missed} of ${strange.asked} below its limit`,
    }),
  };
};

/** Of each held mail, with what became of it for its recipients. */
const statesAt = async (node: ClusterNode): Promise<States> => {
  const {key} = await node.createKey('full-admin', {rate_limit_per_minute: 1_000_000});
  const states = new Map();
  for (const {node_id, queue_id} of await node.allHeld()) {
    const {status, json} = await node.api('GET', `mail/quarantine/${node_id}/${queue_id}`, {key});
    if (status !== 200) throw new Error(`${queue_id}: ${status}`);
    states.set(`${node_id}/${queue_id}`, json.data);
  }
  return states;
};

const changedIn = (before: States, after: States): string[] =>
  [...before.keys()].filter(id => !isDeepStrictEqual(before.get(id), after.get(id)));

/** The link that was opened most, by its button, twice at the same time: once its minute is over it delivers this mail to its recipient. */
const pressOnce = async (node: ClusterNode, url: string, before: States): Promise<string[]> => {
  const page = pageClient(node.ca_file);
  const mailsBefore = node.sink.mails.length;
  const {body} = await eventually(async () => {
    const shownNow = await page(url, {headers: ofRecipient});
    return shownNow.status === 200 && shownNow;
  }, 70_000);
  // Both, if the page named the other recipient, too.
  const address = [...new Set(body.match(/(?:ann|bob)-0@open\.test/g))].join(' ');
  const press = async () => page(url, {...button, headers: {...button.headers, ...ofRecipient}});
  const pressed = await Promise.all([press(), press()]);

  const delivered = node.sink.mails.slice(mailsBefore).map(({recipients}) => recipients.join(' '));
  const after = await statesAt(node);
  const states = changedIn(before, after)
    .flatMap(id => after.get(id)?.recipient_states.map(({address: to, state}) => `${to} ${state}`))
    .sort();
  const seen = [...pressed.map(({status}) => status), ...delivered, ...states].join(', ');
  const wanted = ['ann-0@open.test', 'bob-0@open.test'].map(to => `${to} ${to === address ? 'released' : 'held'}`);
  const right = [303, 303, address, ...wanted].join(', ');
  return seen === right ? [] : [`the button did not release once: ${seen} instead of ${right}`];
};
