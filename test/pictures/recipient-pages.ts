// `npm run pictures:pages`: takes the pictures in docs/ of the page for recipients, in each of its states, in a real browser.
import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {createClosers} from '../../daemon/node/closers.ts';
import {startBrowser} from '../helpers/browser.ts';
import {linksOf, startNodeWithPages} from '../helpers/recipient-node.ts';

const screen = {width: 400, height: 700};
const to = 'ann@example.com';
const samples = {
  release: {from: 'rewards@shop.example', subject: 'Your points expire tonight'},
  request: {from: 'accounts@bank.example', subject: 'Please confirm your account'},
  refused: {from: 'news@club.example', subject: 'Minutes of the meeting'},
  discarded: {from: 'offers@shop.example', subject: 'Last chance'},
};

const take = async (folder: string): Promise<void> => {
  const closers = createClosers(error => void process.stderr.write(`pictures: ${String(error)}\n`));
  const owner = {teardown: (close: () => unknown) => closers.add(async () => void (await close()))};
  try {
    const {node, url} = await startNodeWithPages(owner);
    for (const {from, subject} of Object.values(samples)) await node.hold({to, from, subject, headers: `From: ${from}\r\n`});
    const links = await linksOf(node);
    const linkOf = (name: keyof typeof samples): string => links.get(samples[name].subject) ?? '';
    const tab = await (await startBrowser(owner)).newTab(screen);
    const save = async (name: string): Promise<void> => writeFile(join(folder, `page-${name}.png`), await tab.picture());
    const configure = async (body: object) => node.api('PUT', `domains/${node.domainId}/digest`, {body});
    await mkdir(folder, {recursive: true});

    await tab.open(linkOf('release'));
    await save('release');
    await tab.press();
    await save('delivered');
    node.sink.behave({recipients: {[to]: {code: 550, text: '5.1.1 no such user'}}});
    await tab.open(linkOf('refused'));
    await tab.press();
    await save('refused');
    const [discarded] = await node.held(`subject=${encodeURIComponent(samples.discarded.subject)}`);
    if (discarded) await node.act('discard', discarded);
    await tab.open(linkOf('discarded'));
    await save('deleted');
    await configure({actions: {spam: 'request'}});
    await tab.open(linkOf('request'));
    await save('request');
    await tab.press();
    await save('requested');
    await configure({language: 'de', actions: {spam: 'release'}});
    await tab.open(linkOf('refused'));
    await save('german');
    await tab.open(`${url}/m/1-${'A'.repeat(22)}`);
    await save('unknown');
  } finally {
    await closers.closeAll();
  }
};

await take(process.argv[2] ?? 'docs');
