// `domain test`, and the warning of `domain create`, with a real node, real backends and a name server of the test.
import {createServer} from 'node:net';
import test, {type ExecutionContext} from 'ava';
import type {TestStep} from '../../shared/domain-test.ts';
import {formatHostPort} from '../../shared/host-port.ts';
import {startDnsZone, type Zone} from '../helpers/dns-zone.ts';
import {listening} from '../helpers/listening.ts';
import {type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {closedPort} from '../helpers/ports.ts';
import {startScriptedServer} from '../helpers/scripted-server.ts';

const start = async (t: ExecutionContext, zone: Zone, config: object = {}) => {
  const {server} = await startDnsZone(t, zone);
  return startMailNode(t, {
    sink: {hasTls: true},
    config: {fqdn: 'mx1.example.net', authentication: {dns_servers: [server]}, ...config},
  });
};

const leadsHere = (): Zone => ({
  'mx1.example.net': {A: ['192.0.2.1']},
  'example.com': {MX: ['10 mx1.example.net'], TXT: ['v=spf1 mx -all']},
});

const tested = async (node: MailNode) => {
  const {code, stdout, stderr} = await node.mfctl(['domain', 'test', 'example.com', '-o', 'json']);
  const {steps, works} = JSON.parse(stdout) as {steps: TestStep[]; works: boolean};
  const states = (part: string) => steps.filter(step => step.part === part).map(({step, state}) => `${step} ${state}`);
  return {code, stderr, steps, works, states};
};

test('a domain whose backend takes mail, and whose MX leads here, works, with what the backend answered', async t => {
  const node = await start(t, leadsHere());
  const {code, stdout, stderr} = await node.mfctl(['domain', 'test', 'example.com']);
  const {states, works} = await tested(node);

  t.is(code, 0, stderr);
  t.regex(stderr, /^mail for example\.com will work, as \S+ sees it/);
  for (const line of [/greeting +ok +220 /, /EHLO +ok +250 /, /STARTTLS +ok +220 /, /RCPT +ok +250 /, /mx +ok/])
    t.regex(stdout, line);
  t.true(works);
  t.deepEqual(states('backend'), ['greeting ok', 'EHLO ok', 'STARTTLS ok', 'RCPT ok']);
  t.is(node.sink.mails.length, 0);
});

test('a domain without a backend that takes its mail does not work, and with a second one that does, it works', async t => {
  const node = await start(t, leadsHere());
  const dead = formatHostPort(await closedPort());
  await node.updateDomain(node.domainId, {backend_servers: [dead]});
  const without = await tested(node);
  await node.updateDomain(node.domainId, {backend_servers: [dead, node.backend]});
  const withOne = await tested(node);

  t.deepEqual([without.code, without.works], [1, false]);
  t.regex(without.stderr, /^mail for example\.com will not work/);
  t.like(without.steps[0], {part: 'backend', name: dead, step: 'connection', state: 'failed'});
  t.is(without.steps[0]?.detail, 'nothing listens there');
  t.deepEqual([withOne.code, withOne.works], [0, true]);
});

test('a backend that relays nothing for the domain fails it, and one that knows no postmaster does not', async t => {
  const node = await start(t, leadsHere());
  const answering = async (code: number, text: string) => {
    node.sink.behave({recipients: {'postmaster@example.com': {code, text}}});
    const {code: status, states} = await tested(node);
    return [status, states('backend').at(-1)];
  };

  t.deepEqual(await answering(550, '5.7.1 Relaying denied'), [1, 'RCPT failed']);
  t.deepEqual(await answering(451, '4.3.0 Later'), [1, 'RCPT failed']);
  t.deepEqual(await answering(550, '5.1.1 User unknown'), [0, 'RCPT warning']);
});

test('MX that is missing, or leads past all nodes, fails the domain; other records are warnings', async t => {
  const zone = leadsHere();
  const node = await start(t, zone);
  const mx = async () => (await tested(node)).states('dns')[0];
  zone['example.com'] = {MX: ['10 mx1.example.net', '20 old.example.org']};
  t.is(await mx(), 'mx warning');
  zone['example.com'] = {MX: ['10 old.example.org']};
  t.is(await mx(), 'mx failed');
  zone['example.com'] = {};
  const {code, states} = await tested(node);

  t.is(code, 1);
  t.deepEqual(states('dns').slice(0, 2), ['mx failed', 'spf warning']);
});

test('what decided that mail will not work is in the last line, and a missing MX record is told with the wanted one', async t => {
  const node = await start(t, {...leadsHere(), 'example.com': {}});
  const dead = formatHostPort(await closedPort());
  await node.updateDomain(node.domainId, {backend_servers: [dead, node.backend]});
  const {stdout, stderr} = await node.mfctl(['domain', 'test', 'example.com']);

  t.regex(stdout, /^dns +example\.com +mx +failed +no MX record; wanted: mx1\.example\.net$/m);
  t.regex(stdout, /^dns +example\.com +spf +warning +no SPF record; wanted: v=spf1 mx -all$/m);
  // One backend that takes mail is enough: the dead one decided nothing.
  t.regex(
    stderr,
    /^mail for example\.com will not work, as \S+ sees it; dns example\.com mx: no MX record; wanted: mx1\.example\.net$/m,
  );
});

test('a dead scanner fails the domain where mail waits for it, and an inactive domain fails', async t => {
  const rspamd_url = `http://${formatHostPort(await closedPort())}`;
  const node = await start(t, leadsHere(), {scanner: {type: 'rspamd', rspamd_url}});
  const waiting = await tested(node);

  t.is(waiting.code, 1);
  t.deepEqual(waiting.states('scanner'), ['answer failed']);
  const other = await startMailNode(t, {domain: {active: false}});
  t.deepEqual((await tested(other)).states('domain'), ['active failed']);
});

test('the text of a server that speaks no SMTP is not shown, and a hostile one reaches no terminal', async t => {
  const node = await start(t, leadsHere());
  const secret = createServer(socket => void socket.on('error', () => {}).end('SECRET-BANNER of another service\r\n'));
  const port = await listening(t, secret);
  const hostile = await startScriptedServer(t, () => undefined, '220 \x1b]0;owned\x07 \u202egnp\r\n');
  await node.updateDomain(node.domainId, {backend_servers: [`127.0.0.1:${port}`, formatHostPort(hostile.server)]});
  const {stdout} = await node.mfctl(['domain', 'test', 'example.com', '-o', 'json']);

  t.notRegex(stdout, /SECRET/);
  t.regex(stdout, /not an SMTP reply/);
  t.notRegex(stdout, /\\u001b|\\u202e|\u001b/);
});

test('who may read a domain may test it, and nobody else', async t => {
  const node = await start(t, leadsHere());
  const other = await node.createDomain();
  const {key} = await node.createKey('domain-admin', {domain: 'example.com'});
  const {key: quarantine} = await node.createKey('quarantine-only');

  t.is((await node.api('GET', `domains/${node.domainId}/test`, {key})).status, 200);
  t.is((await node.api('GET', `domains/${other.id}/test`, {key})).status, 404);
  t.is((await node.api('GET', `domains/${node.domainId}/test`, {key: quarantine})).status, 403);
});

test('a new domain whose backend does not answer is made, and warned of unless -q is given', async t => {
  const node = await startMailNode(t, {domain: false});
  const dead = formatHostPort(await closedPort());
  const create = async (...args: string[]) => node.mfctl(['domain', 'create', ...args]);
  const warned = await create('a.test', '--backend', dead, '--backend', 'no-such-name.invalid:25');
  const quiet = await create('b.test', '--backend', dead, '-q');
  const fine = await create('c.test', '--backend', node.backend);

  t.deepEqual([warned.code, quiet.code, fine.code], [0, 0, 0]);
  t.regex(warned.stderr, new RegExp(`warning: backend ${dead} cannot be reached: nothing listens there`));
  t.regex(
    warned.stderr,
    /warning: backend no-such-name\.invalid:25 cannot be reached: (no such host|its name could not be looked up)$/m,
  );
  t.deepEqual([quiet.stderr, fine.stderr], ['', '']);
});
