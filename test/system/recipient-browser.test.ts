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
  await tab.back();
  t.is(await tab.evaluate('location.href'), link);
  t.regex(await tab.text(), /was delivered to you/);
  t.is(await tab.evaluate('document.querySelector("button")'), null);

  t.is(node.sink.mails.length, digests + 1);
  t.is((await node.onlyHeld()).recipients.length, 1);
});

testBrowser('on a telephone long and hostile text fits', async t => {
  const {node} = await startNodeWithPages(t);
  const subject = `${'W'.repeat(150)} \u202e<b>x</b> שלום`;
  await node.hold({to: 'ben@example.com', subject});
  const [link = ''] = (await linksOf(node)).values();
  const tab = await (await startBrowser(t)).newTab({width: 360, height: 640});
  await tab.open(link);

  t.is(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  t.is(await tab.evaluate('document.querySelectorAll("script, img, link, iframe, dd b").length'), 0);
  t.is(await tab.evaluate('document.cookie'), '');
});

testBrowser('the keyboard reaches the button and presses it, and a screen reader hears what the page is', async t => {
  const {node} = await startNodeWithPages(t);
  await node.hold({to: 'ben@example.com', subject: 'wanted'});
  const [link = ''] = (await linksOf(node)).values();
  const digests = node.sink.mails.length;
  const tab = await (await startBrowser(t)).newTab();
  await tab.open(link);
  const heard = async () => (await tab.accessible()).filter(([role]) => /^(?:RootWebArea|heading|button|term)$/.test(role));

  t.deepEqual(await heard(), [
    ['RootWebArea', 'A mail that is held for you'],
    ['heading', 'A mail that is held for you'],
    ...['Subject', 'From', 'To', 'Received', 'Size', 'Why it is held'].map(label => ['term', label] as [string, string]),
    ['button', 'Deliver this mail to me'],
  ]);
  t.is(await tab.evaluate('document.documentElement.lang'), 'en');
  await tab.key('Tab');
  t.is(await tab.evaluate('document.activeElement.textContent'), 'Deliver this mail to me');
  await tab.key('Enter');

  t.is(node.sink.mails.length, digests + 1);
  t.deepEqual((await heard()).slice(0, 2), [
    ['RootWebArea', 'This mail was delivered to you'],
    ['heading', 'This mail was delivered to you'],
  ]);
});

testBrowser('a link that was forwarded shows its mail, and nothing else of the recipient or of others', async t => {
  const {node} = await startNodeWithPages(t);
  await node.hold({to: ['ben@example.com', 'cat@example.com'], subject: 'forwarded'});
  await node.hold({to: 'ben@example.com', subject: 'private'});
  const links = await linksOf(node);
  const link = links.get('forwarded') ?? '';
  const browser = await startBrowser(t);
  const own = await browser.newTab();
  for (const each of links.values()) await own.open(each);

  const stranger = await browser.newTab({isStranger: true});
  await stranger.open(link);

  const shown = await stranger.text();
  const [to] = /\w+@example\.com/.exec(shown) ?? [];
  t.true(shown.includes('forwarded') && (to === 'ben@example.com' || to === 'cat@example.com'), shown);
  t.deepEqual(shown.match(/\w+@example\.com/g), [to ?? ''], 'one of the two');
  t.false(shown.includes('private'));
  t.is(await stranger.evaluate('document.links.length'), 0);
  await stranger.press();
  t.regex(await stranger.text(), /was delivered to you/);
  t.deepEqual(node.sink.mails.at(-1)?.recipients, [to]);
});

testBrowser('a link says in German that an administrator has released its mail, and that it has expired', async t => {
  const {node} = await startNodeWithPages(t, {config: {retention: {sweep_interval: 0.5}}});
  for (const subject of ['released', 'expired']) await node.hold({to: 'ben@example.com', subject});
  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {language: 'de'}});
  const links = await linksOf(node);
  const tab = await (await startBrowser(t)).newTab();
  const open = async (subject: string) => {
    await tab.open(links.get(subject) ?? '');
    return tab.text();
  };
  t.regex(await open('expired'), /Eine E-Mail, die für Sie zurückgehalten wird/);
  t.deepEqual(
    (await tab.accessible()).filter(([role]) => role === 'button'),
    [['button', 'Diese E-Mail zustellen']],
  );
  t.is(await tab.evaluate('document.documentElement.lang'), 'de');

  const [released] = await node.held('subject=released');
  await node.act('release', released as NonNullable<typeof released>);
  await node.api('PUT', `domains/${node.domainId}/retention`, {body: {days: 0.00001}});
  await eventually(async () => (await node.allHeld()).length === 0);

  t.regex(await open('released'), /Diese E-Mail wurde Ihnen am .* zugestellt/);
  t.regex(await open('expired'), /Diese E-Mail wurde bis .* zurückgehalten und dann gelöscht/);
  t.is(await tab.evaluate('document.querySelector("button")'), null);
});
