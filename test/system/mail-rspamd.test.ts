// Mail scored by the real Rspamd, and by one that is down or does not answer.
import {readFileSync} from 'node:fs';
import test from 'ava';
import {formatHostPort} from '../../shared/host-port.ts';
import {onTheWire, splitTrace, startMailNode} from '../helpers/mail-node.ts';
import {closedPort} from '../helpers/ports.ts';
import {demandingRules, isRspamdInstalled, startRspamd} from '../helpers/rspamd.ts';

const sample = (name: string) => onTheWire(readFileSync(new URL(`../samples/${name}`, import.meta.url)));
const withRspamd = isRspamdInstalled() ? test.serial : test.serial.skip;
const scanner = (rspamd_url: string, more: object = {}) => ({config: {scanner: {type: 'rspamd', rspamd_url, ...more}}});

withRspamd('[Rspamd] the test mail scores 15: refused at the default thresholds, held above, with its symbol', async t => {
  const node = await startMailNode(t, scanner(await startRspamd(t)));

  const refused = await node.send(sample('gtube.eml'));
  await node.updateDomain(node.domainId, {reject_threshold: 20});
  const taken = await node.send(sample('gtube.eml'));

  t.is(refused.code, 550);
  t.regex(refused.text, /^5\.7\.1 /);
  t.is(taken.code, 250);
  const mail = await node.onlyHeld();
  t.is(mail.score, 15);
  t.true(mail.symbols.includes('GTUBE'), mail.symbols.join());
  t.is(mail.reason, 'spam');
  t.is(node.sink.mails.length, 0);
});

withRspamd('[Rspamd] what it finds in a phishing mail is listed, and an innocent mail is relayed unchanged', async t => {
  const node = await startMailNode(t, scanner(await startRspamd(t)));
  const innocent = sample('plain.eml');

  const relayed = await node.send(innocent);
  await node.updateDomain(node.domainId, {quarantine_threshold: 0.1});
  await node.send(sample('phishing.eml'));

  t.is(relayed.code, 250);
  t.true(splitTrace(node.sink.mails[0]?.content ?? Buffer.alloc(0)).rest.equals(innocent));
  const mail = await node.onlyHeld();
  t.is(mail.reason, 'phishing', mail.symbols.join());
  t.true(mail.symbols.length > 3);
});

withRspamd('[Rspamd] what its rules demand is done, unless a filter or the score has decided', async t => {
  const node = await startMailNode(t, scanner(await startRspamd(t, {rules: demandingRules})));
  const demanding = (action: string) => Buffer.from(`Subject: ${action}\r\n\r\ntext\r\n`);
  const codes = async () => [(await node.send(demanding('soft reject'))).code, (await node.send(demanding('reject'))).code];

  t.deepEqual(await codes(), [451, 550]);
  await node.updateDomain(node.domainId, {quarantine_threshold: 1, reject_threshold: 20});
  t.deepEqual(await codes(), [451, 250]);
  t.is((await node.onlyHeld()).score, 15);
  await node.updateDomain(node.domainId, {reject_threshold: 1});
  t.deepEqual(await codes(), [550, 550]);
  const allow = {action: 'allow', match: 'sender', pattern: 'ada@example.net'};
  t.is((await node.api('POST', `domains/${node.domainId}/filters`, {body: allow})).status, 201);
  t.deepEqual(await codes(), [250, 250]);

  t.is(node.sink.mails.length, 2);
});

test('with the scanner down mail is to come again', async t => {
  const node = await startMailNode(t, scanner(`http://${formatHostPort(await closedPort())}`));

  const reply = await node.send(sample('plain.eml'));

  t.is(reply.code, 451);
  t.regex(reply.text, /^4\.\d+\.\d+ /);
  t.is(node.sink.mails.length, 0);
  t.deepEqual(await node.held(), []);
});

test('with the scanner down and on_failure pass mail is relayed', async t => {
  const node = await startMailNode(t, scanner(`http://${formatHostPort(await closedPort())}`, {on_failure: 'pass'}));

  t.is((await node.send(sample('plain.eml'))).code, 250);
  t.is(node.sink.mails.length, 1);
  t.regex(await (await fetch(`${node.metrics_url}/metrics`)).text(), /^mfd_scanner_failures_total 1$/m);
});
