// `npm run pictures:pages`: takes the pictures in docs/ of the page for recipients, in each of its states, in a real browser.
import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {createClosers} from '../../daemon/node/closers.ts';
import {startBrowser} from '../helpers/browser.ts';
import {startCluster} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {freePort} from '../helpers/ports.ts';
import {linksOf} from '../helpers/recipient-node.ts';
import {startWallClocks} from '../helpers/wall-clocks.ts';

const screen = {width: 400, height: 700};
const to = 'ann@example.com';
const samples = {
  release: {from: 'rewards@shop.example', subject: 'Your points expire tonight'},
  request: {from: 'accounts@bank.example', subject: 'Please confirm your account'},
  failed: {from: 'news@club.example', subject: 'Minutes of the meeting'},
  discarded: {from: 'offers@shop.example', subject: 'Last chance'},
  slow: {from: 'billing@hosting.example', subject: 'Invoice 4711'},
  old: {from: 'survey@travel.example', subject: 'How was your stay?'},
};
const ofBeta = {from: 'tickets@theatre.example', subject: 'Your tickets'};

/** Two nodes with mail for ann, the links of her digest, and a browser; the pages are on alpha. */
const arrange = async (owner: Owner, folder: string) => {
  const listen = `127.0.0.1:${await freePort()}`;
  const clocks = await startWallClocks(owner, ['alpha']);
  const {nodes, sink, converged} = await startCluster(owner, {
    nodes: ['alpha', 'beta'],
    isProxied: false,
    env: {alpha: clocks.env.alpha},
    config: {recipients: {url: `https://${listen}`}, retention: {sweep_interval: 0.5}},
    configOf: {alpha: {recipients: {url: `https://${listen}`, listen}}},
  });
  const {alpha, beta} = nodes;
  const {id} = await alpha.createDomain({name: 'example.com'});
  const configure = async (body: object) => alpha.api('PUT', `domains/${id}/digest`, {body});
  await configure({enabled: true});
  await converged();
  const hold = async (node: typeof alpha, {from, subject}: typeof ofBeta) =>
    node.hold({to, from, subject, headers: `From: ${from}\r\n`});
  for (const sample of Object.values(samples)) await hold(alpha, sample);
  await hold(beta, ofBeta);
  const links = await linksOf({...alpha, domainId: id});
  const tab = await (await startBrowser(owner)).newTab(screen);
  await mkdir(folder, {recursive: true});
  return {
    ...{alpha, beta, sink, clocks, tab, configure},
    url: `https://${listen}`,
    open: async ({subject}: typeof ofBeta) => tab.open(links.get(subject) ?? ''),
    save: async (name: string): Promise<void> => writeFile(join(folder, `page-${name}.png`), await tab.picture()),
  };
};

type Arranged = Awaited<ReturnType<typeof arrange>>;

const takeStates = async ({alpha, tab, configure, open, save}: Arranged): Promise<void> => {
  await open(samples.release);
  await save('release');
  await tab.press();
  await save('delivered');
  const [discarded] = await alpha.held(`subject=${encodeURIComponent(samples.discarded.subject)}`);
  if (discarded) await alpha.act('discard', discarded);
  await open(samples.discarded);
  await save('deleted');
  await configure({actions: {spam: 'request'}});
  await open(samples.request);
  await save('request');
  await tab.press();
  await save('requested');
  await configure({actions: {spam: 'none'}});
  await open(samples.old);
  await save('none');
  await configure({actions: {spam: 'release'}});
};

const takeFailures = async ({beta, sink, tab, url, open, save}: Arranged): Promise<void> => {
  const replies = {refused: {code: 550, text: '5.1.1 no such user'}, 'not-delivered': {code: 451, text: '4.3.0 later'}};
  for (const [name, reply] of Object.entries(replies)) {
    sink.behave({recipients: {[to]: reply}});
    await open(samples.failed);
    await tab.press();
    await save(name);
  }
  // Two answers of the server take longer than a page waits.
  sink.behave({delayMs: 8000});
  await open(samples.slow);
  await tab.press();
  await save('under-way');
  sink.behave({});
  await open(samples.old);
  await tab.evaluate('document.querySelector("input").value = "something else"');
  await tab.press();
  await save('wrong');
  await tab.open(`${url}/m/1-${'A'.repeat(22)}`);
  await save('unknown');
  for (let n = 0; n < 30; n += 1) await open(samples.discarded);
  await save('too-many');
  await beta.stop('SIGKILL');
  await open(ofBeta);
  await save('away');
};

const takeLater = async ({clocks, configure, open, save}: Arranged): Promise<void> => {
  await configure({language: 'de'});
  await open(samples.failed);
  await save('german');
  await configure({language: 'en'});
  for (const [name, days] of [
    ['outdated', 15],
    ['expired', 31],
  ] as const) {
    await clocks.set({alpha: days * 86_400});
    // A process has the time within a second, and then removes what was held for long enough.
    await delay(3000);
    await open(samples.old);
    await save(name);
  }
};

const take = async (folder: string): Promise<void> => {
  const closers = createClosers(error => void process.stderr.write(`pictures: ${String(error)}\n`));
  const owner = {teardown: (close: () => unknown) => closers.add(async () => void (await close()))};
  try {
    const arranged = await arrange(owner, folder);
    await takeStates(arranged);
    await takeFailures(arranged);
    await takeLater(arranged);
  } finally {
    await closers.closeAll();
  }
};

await take(process.argv[2] ?? 'docs');
