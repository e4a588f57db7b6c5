import test, {type ExecutionContext} from 'ava';
import {startDnsZone, type Zone} from '../helpers/dns-zone.ts';
import {startNode, type TestNode} from '../helpers/node.ts';
import {isTmuxInstalled, startDashboard, type TestTerminal} from '../helpers/terminal.ts';

/** The screen of a domain asks DNS. */
const zone: Zone = {'example.com': {TXT: ['v=spf1 +all']}};

const onTerminal = isTmuxInstalled() ? test : test.skip;

const startDomainNode = async (t: ExecutionContext, names = ['example.com']) => {
  const {server} = await startDnsZone(t, zone);
  const node = await startNode(t, {config: {authentication: {dns_servers: [server]}}});
  const ids: number[] = [];
  for (const name of names) {
    const {status, json, body} = await node.api('POST', 'domains', {body: {name, backend_servers: ['127.0.0.1:2526']}});
    if (status !== 201) throw new Error(String(body));
    ids.push(json.data.id);
  }
  const data = async (path = '') => (await node.api('GET', `domains/${ids[0]}${path}`)).json.data;
  return {node, data};
};

const startScreen = async (t: ExecutionContext, node: TestNode, args: string[] = [], env: Record<string, string> = {}) => {
  const terminal = await startDashboard(t, node, ['--screen', 'domains', ...args], {env});
  await terminal.shows('example.com');
  return terminal;
};

/** Types into the settings form: the field that is `below` fields under the first one. */
const typeSetting = async (terminal: TestTerminal, below: number, text: string): Promise<void> => {
  await terminal.shows('── Settings of example.com');
  await terminal.keys(...Array.from({length: below}, () => 'Tab'), 'C-u');
  await terminal.type(text);
  await terminal.keys('Enter');
};

const quarantineAt = 3;
const rejectAt = 4;

onTerminal('[tmux] a threshold is saved once the difference was agreed to', async t => {
  const {node, data} = await startDomainNode(t);
  const terminal = await startScreen(t, node);

  await terminal.keys('e');
  await typeSetting(terminal, quarantineAt, '4');
  await terminal.shows('quarantine_threshold  6 → 4');
  const before = await data();
  await terminal.keys('y');

  await terminal.shows('Saved example.com: quarantine_threshold 6 → 4');
  t.is(before.quarantine_threshold, 6);
  t.like(await data(), {quarantine_threshold: 4, reject_threshold: 15});
});

onTerminal('[tmux] the screen of a domain names the DNS records that are not right, and shows what should be there', async t => {
  const {node} = await startDomainNode(t);
  const terminal = await startScreen(t, node);

  await terminal.keys('Enter');
  await terminal.shows('Reported  no verified reports came in 30 days');
  await terminal.shows('DNS       mx missing, spf differs, dmarc missing; n shows them');
  await terminal.keys('n');

  await terminal.shows('── DNS records of example.com');
  await terminal.shows(
    /spf differs: \+all lets everybody send as this domain[\s\S]*wanted +TXT v=spf1 mx -all[\s\S]*found +TXT v=spf1 \+all/,
  );
  await terminal.shows(/_dmarc\.example\.com +dmarc missing[\s\S]*wanted +TXT v=DMARC1; p=none/);
  t.pass();
});

onTerminal('[tmux] thresholds in the wrong order are told of as soon as the field is left', async t => {
  const {node} = await startDomainNode(t);
  const terminal = await startScreen(t, node);

  await terminal.keys('e');
  await terminal.shows('── Settings');
  await terminal.keys('Tab', 'Tab', 'Tab', 'C-u');
  await terminal.type('20\t');

  await terminal.shows('must not be above Reject at (15)');
  t.pass();
});

onTerminal('[tmux] of two who edit one domain the second is told, and nothing is lost', async t => {
  const {node, data} = await startDomainNode(t);
  const [first, second] = await Promise.all([startScreen(t, node), startScreen(t, node)]);
  await second.keys('e');
  await second.shows('── Settings');

  await first.keys('e');
  await typeSetting(first, quarantineAt, '4');
  await first.shows('6 → 4');
  await first.keys('y');
  await first.shows('Saved example.com');
  await typeSetting(second, rejectAt, '12');
  await second.shows('reject_threshold  15 → 12');
  await second.keys('y');

  const told = await second.shows('Open the form again');
  t.regex(told, /somebody else has changed example\.com/);
  t.regex(told, /They changed:\s+quarantine_threshold {2}6 → 4/);
  t.like(await data(), {quarantine_threshold: 4, reject_threshold: 15});
  await second.keys('y');
  await second.shows(/Quarantine at +4\b/);
  await second.keys('Enter');
  await second.shows('reject_threshold  15 → 12');
  await second.keys('y');
  await second.shows('Saved example.com');
  t.like(await data(), {quarantine_threshold: 4, reject_threshold: 12});
});

onTerminal('[tmux] a filter for all domains is added, shown and removed, and with --read-only shown', async t => {
  const {node} = await startDomainNode(t);
  const filters = async () => (await node.api('GET', 'filters')).json.data;
  const terminal = await startScreen(t, node, ['--undo-delay', '0']);
  await terminal.keys('F');
  await terminal.shows('No mail filters for all domains');

  await terminal.keys('f');
  await terminal.shows('New mail filter for all domains');
  await terminal.keys('Tab', 'Tab', 'Tab', 'Tab');
  await terminal.type('spam@bad.example');
  await terminal.keys('Enter');
  await terminal.shows(/Add this mail filter to all domains\?\s+✗ block, sender: spam@bad\.example/);
  await terminal.keys('y');
  await terminal.shows('Mail filters for all domains · 1');
  t.like(await filters(), [{action: 'block', match: 'sender', pattern: 'spam@bad.example'}]);
  const reader = await startScreen(t, node, ['--read-only']);
  await reader.keys('F');
  await reader.shows('spam@bad.example');
  await terminal.keys('x');
  await terminal.shows('Remove this mail filter for all domains?');
  await terminal.keys('y');

  await terminal.shows('No mail filters for all domains');
  t.deepEqual(await filters(), []);
});

onTerminal('[tmux] a filter is added, and a DKIM key made whose record is on the screen as it is to be published', async t => {
  const {node, data} = await startDomainNode(t);
  const terminal = await startScreen(t, node);
  await terminal.keys('Enter');
  await terminal.shows('DKIM keys (0)');

  await terminal.keys('f');
  await terminal.shows('New mail filter');
  await terminal.keys('Tab', 'Tab', 'Tab', 'Tab');
  await terminal.type('spam@bad.example');
  await terminal.keys('Enter');
  await terminal.shows(/Add this mail filter to example\.com\?\s+✗ block, sender: spam@bad\.example/);
  t.deepEqual(await data('/filters'), []);
  await terminal.keys('y');
  await terminal.shows('Mail filters (1)');
  await terminal.keys('d');
  await terminal.shows('New DKIM key');
  await terminal.type('mfd2026');
  await terminal.keys('Enter');
  await terminal.shows(/Make a DKIM key of example\.com\?\s+selector +mfd2026\s+algorithm +rsa-2048/);
  t.deepEqual(await data('/dkim-keys'), []);
  await terminal.keys('y');

  const screen = await terminal.shows(/ IN TXT \([\s\S]*\n\)/);
  const [filter] = await data('/filters');
  const [key] = await data('/dkim-keys');
  t.like(filter, {action: 'block', match: 'sender', pattern: 'spam@bad.example'});
  t.true(screen.includes(`${key.dns_name}. IN TXT (`));
  t.is([...screen.matchAll(/^ {2}"(.*)"$/gm)].map(([, text]) => text).join(''), key.dns_record);
});

onTerminal('[tmux] a deletion is taken back in time, and done when it is not', async t => {
  const {node} = await startDomainNode(t, ['example.com', 'other.example']);
  const terminal = await startScreen(t, node, ['--undo-delay', '20']);
  await terminal.keys('D');
  await terminal.shows('Delete example.com?');
  await terminal.keys('y');
  await terminal.shows('delete example.com. u takes it back');
  await terminal.keys('u');
  await terminal.shows('nothing was done');
  t.is((await node.api('GET', 'domains')).json.data.length, 2);

  const hasty = await startScreen(t, node, ['--undo-delay', '0']);
  await hasty.keys('D');
  await hasty.shows('Delete example.com?');
  await hasty.keys('y');

  await hasty.shows('Deleted example.com');
  const {json} = await node.api('GET', 'domains');
  t.deepEqual(
    json.data.map(({name}: {name: string}) => name),
    ['other.example'],
  );
});

onTerminal('[tmux] a key of one domain sees and edits that one, and is told why it makes no other', async t => {
  const {node, data} = await startDomainNode(t, ['example.com', 'other.example']);
  const made = await node.api('POST', 'auth/api-keys', {body: {name: 'ops', scope: 'domain-admin', domain: 'example.com'}});
  const env = {MFCTL_URL: node.api_url, MFCTL_CACERT: node.ca_file, MFCTL_API_KEY: made.json.data.key};
  const terminal = await startScreen(t, node, [], env);

  await terminal.keys('n');
  const refused = await terminal.shows('this domain-admin key may not do that');
  await terminal.keys('e');
  await typeSetting(terminal, quarantineAt, '5');
  await terminal.shows('6 → 5');
  await terminal.keys('y');
  await terminal.shows('Saved example.com');

  t.false(refused.includes('other.example'));
  t.is((await data()).quarantine_threshold, 5);
});

onTerminal('[tmux] with --read-only everything is seen and nothing is changed', async t => {
  const {node, data} = await startDomainNode(t);
  const terminal = await startScreen(t, node, ['--read-only']);

  await terminal.keys('Enter');
  await terminal.shows('Mail filters (0)');
  await terminal.keys('e', 'a', 'f', 'd', 'D');
  await terminal.shows('opened with --read-only');
  // A form or a question would react to the key.
  await terminal.keys('Escape');

  await terminal.shows('Domains · 1');
  t.like(await data(), {quarantine_threshold: 6, active: true});
});
