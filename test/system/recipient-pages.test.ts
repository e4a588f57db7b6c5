import {X509Certificate} from 'node:crypto';
import {once} from 'node:events';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {connect} from 'node:tls';
import test from 'ava';
import {selfSigned} from '../helpers/certificate.ts';
import {eventually, startMailNode} from '../helpers/mail-node.ts';
import {button, form} from '../helpers/page.ts';
import {listeningPorts} from '../helpers/process-table.ts';
import {linksOf, startNodeWithPages, tokenOf} from '../helpers/recipient-node.ts';
import {openStrangers} from '../helpers/strangers.ts';
import {testFolder} from '../helpers/test-folder.ts';

test('a link shows its mail, and only the button has it delivered, to that recipient alone', async t => {
  const {node, page} = await startNodeWithPages(t);
  await node.hold({to: ['ben@example.com', 'cat@example.com'], subject: 'wanted'});
  const links = await linksOf(node);
  const [link] = links.values();
  const digests = node.sink.mails.length;
  t.is(digests, 2);

  const shown = await page(link ?? '');
  t.is(shown.status, 200);
  t.regex(shown.body, /<dd dir="auto">wanted<\/dd>/);
  t.regex(shown.body, /<button>Deliver this mail to me<\/button>/);
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH']) await page(link ?? '', {method});
  t.is(node.sink.mails.length, digests);

  const pressed = await page(link ?? '', button);
  t.is(pressed.status, 303);
  t.is(new URL(pressed.headers.location ?? '', link ?? '').href, link ?? '');
  t.is(node.sink.mails.length, digests + 1);
  const released = node.sink.mails.at(-1);
  t.is(released?.recipients.length, 1);
  const after = await page(link ?? '');
  t.regex(after.body, /This mail was delivered to you on /);
  t.notRegex(after.body, /<button/);
  t.is((await page(link ?? '', button)).status, 303);
  t.is(node.sink.mails.length, digests + 1, 'once');
  const held = await node.onlyHeld();
  t.is(held.recipients.length, 1);
  const detail = (await node.api('GET', `mail/quarantine/${held.node_id}/${held.queue_id}`)).json.data;
  t.is(detail.recipient_states.find(({state}: {state: string}) => state === 'released').acted_by, 0);
  const [entry] = (await node.api('GET', 'audit?action=quarantine.release')).json.data;
  t.like(entry, {key_id: 0, remote_address: '127.0.0.1'});
});

test('pages ask for nothing, run nothing and tell nobody where they are', async t => {
  const {node, url, page} = await startNodeWithPages(t);
  await node.hold({to: 'ben@example.com', subject: '<script>alert(1)</script><img src=https://evil.test/x> "\' &amp;'});
  const [link = ''] = (await linksOf(node)).values();

  for (const {headers, body} of [await page(link), await page(`${url}/m/none`)]) {
    t.notRegex(body, /<script|<img|<link|<iframe|javascript:|\son\w+=/i);
    t.deepEqual(
      [...body.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, to]) => to),
      [],
    );
    t.regex(
      String(headers['content-security-policy']),
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    t.like(headers, {
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    t.is(headers['set-cookie'], undefined);
  }
});

test('what is no link, no form or another site does nothing', async t => {
  const {node, url, page} = await startNodeWithPages(t);
  await node.hold({to: 'ben@example.com', subject: 'held'});
  const [link = ''] = (await linksOf(node)).values();
  const token = tokenOf(link);
  const others = [
    token.slice(0, -1),
    `${token}A`,
    token.replace(/^1/, '2'),
    token.toUpperCase(),
    `01-${token.slice(2)}`,
    'a',
    '%00',
    '..%2f',
  ];
  for (const other of others) {
    t.is((await page(`${url}/m/${other}`)).status, 404, other);
    t.is((await page(`${url}/m/${other}`, button)).status, 404, other);
  }
  const wrong = [
    {...button, body: ''},
    {...button, body: 'do=discard'},
    {...button, body: 'do=release&do=release'},
    {...button, body: 'x'.repeat(1_000_000)},
    {...button, headers: {...button.headers, 'Content-Type': 'text/plain'}},
    {...button, headers: {...form, 'Sec-Fetch-Site': 'cross-site'}},
    {...button, headers: {...form, Origin: 'https://evil.test'}},
  ];
  for (const request of wrong) t.is((await page(link, request)).status, 400);
  t.is((await node.allHeld()).length, 1);
  t.is((await page(link, {...button, headers: form})).status, 303, 'an old browser says nothing of where a form is from');
});

test('the page says what became of the mail, in the language of the domain', async t => {
  const {node, page} = await startNodeWithPages(t);
  for (const subject of ['discarded', 'phishing']) await node.hold({to: 'ben@example.com', subject});
  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {language: 'de'}});
  const links = await linksOf(node);
  const [held] = await node.held('subject=discarded');
  await node.act('discard', held as NonNullable<typeof held>);

  t.regex((await page(links.get('discarded') ?? '')).body, /<html lang="de">[\s\S]*Diese E-Mail wurde am .* gelöscht/);
  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {actions: {spam: 'request'}}});
  const asked = await page(links.get('phishing') ?? '');
  t.regex(asked.body, /<button>Einen Administrator um diese E-Mail bitten<\/button>/);
  await page(links.get('phishing') ?? '', button);
  t.is((await node.allHeld()).length, 1, 'the button of before does nothing');
  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {actions: {spam: 'none'}}});
  const none = await page(links.get('phishing') ?? '');
  t.regex(none.body, /Nur ein Administrator kann sie zustellen lassen/);
  t.notRegex(none.body, /<button/);
  for (const body of ['do=release', 'do=request']) await page(links.get('phishing') ?? '', {...button, body});
  t.is((await node.allHeld()).length, 1);
  t.deepEqual(await node.held('requested=true'), []);
});

test('a request is made once, and the page says what became of it', async t => {
  const {node, page} = await startNodeWithPages(t);
  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {actions: {spam: 'request'}}});
  for (const subject of ['asked', 'other']) await node.hold({to: 'ben@example.com', subject});
  const link = (await linksOf(node)).get('asked') ?? '';
  const ask = {...button, body: 'do=request'};

  t.regex((await page(link)).body, /<button>Ask an administrator for this mail<\/button>/);
  t.deepEqual(
    (await Promise.all([page(link, ask), page(link, ask), page(link, ask)])).map(({status}) => status),
    [303, 303, 303],
  );
  const {body} = await page(link);
  t.regex(body, /You asked an administrator for it on /);
  t.notRegex(body, /<button/);

  const requested = await node.held('requested=true');
  t.deepEqual(
    requested.map(({subject, release_requested}) => [subject, release_requested]),
    [['asked', true]],
  );
  const [held] = requested;
  if (!held) return;
  const detail = (await node.api('GET', `mail/quarantine/${held.node_id}/${held.queue_id}`)).json.data;
  t.true(detail.release_requested);
  t.regex(detail.recipient_states[0].requested_at, /^20/);
  const audited = (await node.api('GET', 'audit?action=quarantine.request')).json.data;
  t.is(audited.length, 1);
  t.like(audited[0], {key_id: 0, remote_address: '127.0.0.1', target: `${held.node_id}/${held.queue_id}`});
  t.is((await node.api('GET', 'audit?key_id=0')).headers['x-total-count'], '1');
  const traced = (await node.api('GET', 'mail/trace?event=release_requested')).json.data;
  t.deepEqual(
    traced.map(({key_id, recipients}: {key_id: number; recipients: string[]}) => [key_id, recipients]),
    [[0, ['ben@example.com']]],
  );

  await node.act('release', held);
  t.regex((await page(link)).body, /This mail was delivered to you on /);
  t.deepEqual(await node.held('requested=true'), []);
});

test('a link is good while digests are off, and has no button once its domain is deleted', async t => {
  const {node, page} = await startNodeWithPages(t);
  await node.hold({to: 'ben@example.com', subject: 'left'});
  const [link = ''] = (await linksOf(node)).values();

  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {enabled: false}});
  t.regex((await page(link)).body, /<button/);
  await node.api('DELETE', `domains/${node.domainId}`);
  t.notRegex((await page(link)).body, /<button/);
  await page(link, button);
  t.is((await node.allHeld()).length, 1);
});

test('the metrics count the answers of the pages by status', async t => {
  const {node, url, page} = await startNodeWithPages(t);
  await node.hold({to: 'ben@example.com', subject: 'held'});
  const [link = ''] = (await linksOf(node)).values();
  const counts = async (): Promise<Record<string, number>> => {
    const text = await (await fetch(`${node.metrics_url}/metrics`)).text();
    const lines = text.matchAll(/^mfd_recipient_pages_total\{status="(\d+)"\} (\d+)$/gm);
    return Object.fromEntries([...lines].map(([, status, count]) => [status, Number(count)]));
  };
  t.deepEqual(await counts(), {});

  for (let n = 0; n < 32; n += 1) await page(link);
  await page(`${url}/m/1-${'A'.repeat(22)}`);
  await page(`${url}/m/1-${'B'.repeat(22)}`, {...button, body: ''});

  t.deepEqual(await counts(), {200: 30, 400: 1, 404: 1, 429: 2});
});

test('the client that a proxy names counts, and only if it is one', async t => {
  const named = {...button, headers: {...button.headers, 'X-Forwarded-For': '203.0.113.9, 198.51.100.7'}};
  const addressAfter = async (proxies: string[]): Promise<string> => {
    const {node, page} = await startNodeWithPages(t, {config: {recipients: {proxies}}});
    await node.hold({to: 'ben@example.com', subject: 'held'});
    const [link = ''] = (await linksOf(node)).values();
    t.is((await page(link, named)).status, 303);
    const [entry] = (await node.api('GET', 'audit?action=quarantine.release')).json.data;
    t.is(entry.detail, 'for ben@example.com');
    return entry.remote_address;
  };

  t.is(await addressAfter([]), '127.0.0.1');
  t.is(await addressAfter(['127.0.0.0/8']), '198.51.100.7');
});

test('a mail that could not be delivered is held, the page says why, and its link goes on working', async t => {
  const {node, page} = await startNodeWithPages(t);
  await node.hold({to: 'ben@example.com', subject: 'held'});
  const [link = ''] = (await linksOf(node)).values();
  const says = async (text: RegExp) => {
    const {status, body} = await page(link, button);
    t.is(status, 503);
    t.regex(body, text);
    t.is((await node.allHeld()).length, 1);
  };

  node.sink.behave({recipients: {'ben@example.com': {code: 550, text: '5.1.1 no such user'}}});
  await says(/Your mail server does not accept this mail\. It is still held: ask an administrator/);
  node.sink.behave({recipients: {'ben@example.com': {code: 451, text: '4.3.0 later'}}});
  await says(/could not be delivered now\. Nothing is lost/);
  node.sink.behave({});
  t.is((await page(link, button)).status, 303);
});

test('strangers that fill the listener do not end the connection of a recipient whose mail is being delivered', async t => {
  const {node, url, page} = await startNodeWithPages(t);
  await node.hold({to: 'ben@example.com', subject: 'held'});
  const [link = ''] = (await linksOf(node)).values();
  const [steps, mails] = [node.sink.steps.length, node.sink.mails.length];
  node.sink.behave({delayMs: 2000});

  const pressed = page(link, button).catch(String);
  await eventually(() => node.sink.steps.length > steps);
  await openStrangers(t, Number(new URL(url).port), {count: 520});

  t.like(await pressed, {status: 303});
  t.is(node.sink.mails.length, mails + 1);
});

test('nothing but pages answers there', async t => {
  const {url, page} = await startNodeWithPages(t);
  for (const path of ['', '/', '/m', '/healthz', '/metrics', '/api/v1/cluster/status', '/peer/v1/heartbeat']) {
    const {status, headers, body} = await page(`${url}${path}`);
    t.deepEqual([status, body], [404, 'Not found\n'], path);
    t.is(headers['referrer-policy'], undefined, 'what is no page does not look like one');
  }
});

test('the pages have a certificate of their own, and the one that replaces it after a reload', async t => {
  const folder = await testFolder(t);
  const files = {cert_file: join(folder, 'pages.crt'), key_file: join(folder, 'pages.key')};
  const install = async (commonName: string) => {
    const {cert, key} = await selfSigned(commonName);
    await writeFile(files.cert_file, cert);
    await writeFile(files.key_file, key);
  };
  await install('first.example.com');
  const {node, url} = await startNodeWithPages(t, {config: {recipients: files}});
  const shownBy = async (listener: string): Promise<string> => {
    const socket = connect({host: '127.0.0.1', port: Number(new URL(listener).port), rejectUnauthorized: false});
    await once(socket, 'secureConnect');
    const {raw} = socket.getPeerCertificate();
    socket.destroy();
    return new X509Certificate(raw).subject;
  };
  t.is(await shownBy(url), 'CN=first.example.com');

  await install('second.example.com');
  node.signal('SIGHUP');
  await eventually(async () => (await shownBy(url)) === 'CN=second.example.com');

  t.false((await shownBy(node.api_url)).includes('example.com'));
});

test('without recipients.listen nothing listens for pages', async t => {
  const portsOf = ({api_url, cluster_url, metrics_url, smtpPort}: Awaited<ReturnType<typeof startMailNode>>) =>
    [...[api_url, cluster_url, metrics_url].map(listener => Number(new URL(listener).port)), smtpPort].sort((a, b) => a - b);
  const plain = await startMailNode(t, {domain: false, config: {recipients: {url: 'https://mail.example.com'}}});
  const {node, url} = await startNodeWithPages(t);

  t.deepEqual(await listeningPorts(plain.pid()), portsOf(plain));
  const others = (await listeningPorts(node.pid())).filter(port => !portsOf(node).includes(port));
  t.deepEqual(others, [Number(new URL(url).port)]);
});
