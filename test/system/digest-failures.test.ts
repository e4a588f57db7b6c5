// Digests that do not arrive, as an administrator hears of them.
import test from 'ava';
import {formatHostPort} from '../../shared/host-port.ts';
import {eventually} from '../helpers/eventually.ts';
import {type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {addToConfig} from '../helpers/node.ts';
import {closedPort} from '../helpers/ports.ts';
import {startNodeWithPages} from '../helpers/recipient-node.ts';

const later = {code: 450, text: '4.7.1 come again'};
const never = {code: 554, text: '5.7.1 client blocked'};

const figures = async ({metrics_url}: MailNode, name: string): Promise<string[]> =>
  (await (await fetch(`${metrics_url}/metrics`)).text()).split('\n').filter(line => line.startsWith(name));
const check = async (node: MailNode) => node.mfctl(['cluster', 'check']);
const warning = async (node: MailNode): Promise<string> =>
  eventually(async () => {
    const {code, stdout} = await check(node);
    return code === 1 && stdout;
  });
const send = async (node: MailNode) => (await node.api('POST', `domains/${node.domainId}/digest/send`)).json.data;

test('cluster check names the domain and the last answer until its digests are sent', async t => {
  const {node} = await startNodeWithPages(t);
  await node.hold({to: 'ben@example.com'});
  node.sink.behave({recipients: {'ben@example.com': later}});

  t.like(await send(node), {sent: 0, is_waiting: true, failure: '450 4.7.1 come again'});
  const warned = await warning(node);
  const status = await node.mfctl(['cluster', 'status']);
  const ready = await (await fetch(`${node.metrics_url}/readyz`)).text();
  const problems = await figures(node, 'mfd_dependency_problems{part="digest"}');
  node.sink.behave({});
  const sent = await node.mfctl(['domain', 'digest', 'example.com', '--send-now']);

  t.regex(
    warned,
    /WARNING: digests of example\.com do not arrive, says \S+ since \S+Z \(450 4\.7\.1 come again\): mfctl domain digest example\.com --send-now sends those that wait \|/,
  );
  t.regex(status.stdout, /online, failing digests/);
  t.regex(ready, /^ready\ndigests do not arrive since \S+Z\n$/, 'no domain: the listener asks for no key');
  t.deepEqual(problems, ['mfd_dependency_problems{part="digest"} 1']);
  t.is(sent.code, 0);
  t.is(node.sink.mails.length, 1);
  t.is((await check(node)).code, 0);
});

test('a backend that refuses all digests of a domain is a problem, and one mailbox of several is a line of the log', async t => {
  const {node} = await startNodeWithPages(t);
  for (const name of ['ann', 'ben']) await node.hold({to: `${name}@example.com`});
  node.sink.behave({senders: {'': never}});

  t.like(await send(node), {sent: 0, refused: 2});
  t.regex(await warning(node), /digests of example\.com do not arrive, says \S+ since \S+Z \(554 5\.7\.1 client blocked\)/);

  for (const name of ['ann', 'ben']) await node.hold({to: `${name}@example.com`});
  node.sink.behave({recipients: {'ben@example.com': later}});
  const {sent} = await send(node);
  t.true(sent > 0);
  t.is((await check(node)).code, 0);
  t.regex(node.log(), /"detail":"450 4\.7\.1 come again".*digests could not be delivered/);
});

test('what became of each try to deliver a digest is counted', async t => {
  const {node} = await startNodeWithPages(t);
  for (const name of ['ann', 'ben', 'cat']) await node.hold({to: `${name}@example.com`});
  node.sink.behave({recipients: {'ben@example.com': never, 'cat@example.com': later}});
  await send(node);
  node.sink.behave({drop: 'after-final-dot'});
  await send(node);

  t.deepEqual(await figures(node, 'mfd_digests_total{'), [
    ...['mfd_digests_total{outcome="sent"} 1', 'mfd_digests_total{outcome="refused"} 1'],
    ...['mfd_digests_total{outcome="waiting"} 1', 'mfd_digests_total{outcome="unknown"} 2'],
  ]);
});

test('an address for links that nobody answers is a problem, and so is none while a domain has digests', async t => {
  const url = `https://${formatHostPort(await closedPort())}`;
  const node = await startMailNode(t, {config: {recipients: {url}}});
  const restart = async (recipients: object) => {
    await node.stop();
    await addToConfig(node.data, {recipients});
    await node.start();
  };
  const part = /recipients\.url of \S+ does not lead to the pages for recipients since \S+Z \((.*?)\)/;

  t.is(part.exec(await warning(node))?.[1], `${url}: nothing listens there`);

  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {enabled: true}});
  await restart({url: undefined});
  t.is(part.exec(await warning(node))?.[1], 'it is set on no node, so 1 domain gets no digests');
  const [problem] = (await node.api('GET', 'cluster/status')).json.data.peers[0].problems;
  t.like(problem, {part: 'recipients_url', name: ''});

  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {enabled: false}});
  await restart({});
  t.is((await check(node)).code, 0);
});
