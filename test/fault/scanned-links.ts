// Links of digests that a scanner opens in a real browser, with scripts on, and stays for a while.
import {setTimeout as delay} from 'node:timers/promises';
import {browserMissing, startBrowser} from '../helpers/browser.ts';
import {linksOf, startNodeWithPages} from '../helpers/recipient-node.ts';
import type {Fault} from './fault.ts';
import {within} from './hostile.ts';

/** As many as a digest has. */
const perMailbox = 100;
/** Tabs that load a page at the same time. */
const atOnce = 4;

export const scannedLinks: Fault = {
  name: 'scanned-links',
  title: 'all links of digests opened in Chromium, with scripts on',
  rounds: 1000,
  shortRounds: 12,
  pass: 'each shows its mail, all stay held and nothing is delivered; then the button of one releases one',
  missing: () => browserMissing,

  async run({owner, rounds, isShort, say}) {
    const {node} = await startNodeWithPages(owner);
    for (let n = 0; n < rounds; n += 1)
      await node.hold({to: `ann-${Math.floor(n / perMailbox)}@example.com`, subject: `offer ${n}.`});
    const links = [...(await linksOf(node))];
    const mailsBefore = node.sink.mails.length;
    say(`${links.length} links in ${mailsBefore} digests`);

    const browser = await startBrowser(owner);
    const wrong: string[] = [];
    const waiting = [...links];
    const open = async ([subject, link]: [string, string]) => {
      const tab = await browser.newTab();
      await tab.open(link);
      const text = await tab.text();
      if (!text.includes(subject) || !text.includes('Deliver this mail to me')) wrong.push(`${subject} ${text.slice(0, 100)}`);
      return tab;
    };
    const tabs: Awaited<ReturnType<typeof open>>[] = [];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) tabs.push(await within(open(next), `hung in "${next[0]}"`));
    };
    await Promise.all(Array.from({length: atOnce}, worker));
    say(`${tabs.length} pages are open`);
    await delay(isShort ? 2000 : 30_000);

    const violations = wrong.length === 0 ? [] : [`${wrong.length} pages showed something else, such as ${wrong[0]}`];
    const delivered = () => node.sink.mails.length - mailsBefore;
    const check = async (wanted: {delivered: number; held: number}, when: string): Promise<void> => {
      const held = (await node.allHeld()).length;
      if (delivered() !== wanted.delivered || held !== wanted.held)
        violations.push(`${when} ${delivered()} were delivered and ${held} were held`);
    };
    if (links.length !== rounds) violations.push(`${rounds} mails had ${links.length} links`);
    await check({delivered: 0, held: rounds}, 'before the button was pressed');
    if (violations.length === 0) {
      await within(tabs[0]?.press(2) ?? Promise.reject(new Error('no page is open')), 'the button hung');
      await check({delivered: 1, held: rounds - 1}, 'after the button was pressed');
    }
    return {rounds: links.length, violations, figures: {'pages open at the end': tabs.length, delivered: delivered()}};
  },
};
