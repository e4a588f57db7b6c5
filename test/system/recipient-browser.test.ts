// The pages for recipients in a real browser, with scripts on.
import {setTimeout as delay} from 'node:timers/promises';
import {browserMissing, startBrowser} from '../helpers/browser.ts';
import {eventually} from '../helpers/eventually.ts';
import {linksOf, startNodeWithPages} from '../helpers/recipient-node.ts';
import {testWith} from '../helpers/test-with.ts';

const testBrowser = (title: string, run: Parameters<ReturnType<typeof testWith>>[1]): void =>
  testWith('Chromium', browserMissing)(title, run);

testBrowser('links that are opened, as scanners do, release nothing', async t => {
  const {node} = await startNodeWithPages(t);
  for (let n = 0; n < 40; n += 1) await node.hold({to: 'ben@example.com', subject: `number ${n}`});
  const links = [...(await linksOf(node)).values()];
  const digests = node.sink.mails.length;
  const browser = await startBrowser(t);

  const tabs = await Promise.all(Array.from({length: 4}, async () => browser.newTab()));
  await Promise.all(
    tabs.map(async (tab, n) => {
      for (const link of links.filter((_, at) => at % 4 === n)) await tab.open(link);
    }),
  );
  await delay(2000);

  t.is(links.length, 40);
  t.is(node.sink.mails.length, digests);
  t.is((await node.allHeld()).length, 40);
});

testBrowser('the button releases once, whatever is pressed, loaded again or gone back to', async t => {
  const {node} = await startNodeWithPages(t);
  await node.hold({to: ['ben@example.com', 'cat@example.com'], subject: 'wanted'});
  const [link = ''] = (await linksOf(node)).values();
  const digests = node.sink.mails.length;
  const browser = await startBrowser(t);
  const [tab, other] = [await browser.newTab(), await browser.newTab()];
  await tab.open(link);
  await other.open(link);
  t.regex(await tab.text(), /wanted/);

  await tab.press(2);
  await eventually(async () => (await tab.text()).includes('was delivered to you'));
  await tab.reload();
  t.regex(await tab.text(), /was delivered to you/);
  await other.press();
  await eventually(async () => (await other.text()).includes('was delivered to you'));
  await tab.back().catch(() => {});

  t.is(node.sink.mails.length, digests + 1);
  t.is((await node.onlyHeld()).recipients.length, 1);
});

testBrowser('on a telephone long and hostile text fits, and the keyboard reaches the button', async t => {
  const {node} = await startNodeWithPages(t);
  const subject = `${'W'.repeat(150)} \u202e<b>x</b> שלום`;
  await node.hold({to: 'ben@example.com', subject});
  const [link = ''] = (await linksOf(node)).values();
  const tab = await (await startBrowser(t)).newTab({width: 360, height: 640});
  await tab.open(link);

  t.is(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  t.is(await tab.evaluate('document.querySelectorAll("script, img, link, iframe, dd b").length'), 0);
  t.is(
    await tab.evaluate('(() => { document.querySelector("button").focus(); return document.activeElement.tagName; })()'),
    'BUTTON',
  );
  t.is(await tab.evaluate('document.documentElement.lang'), 'en');
  t.is(await tab.evaluate('document.cookie'), '');
});
