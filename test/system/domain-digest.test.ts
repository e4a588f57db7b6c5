import test from 'ava';
import PostalMime from 'postal-mime';
import {type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {createSigningDomain} from '../helpers/signing-domain.ts';

const url = 'https://mail.example.com';

const putDigest = async (node: MailNode, body: object, key?: string) =>
  node.api('PUT', `domains/${node.domainId}/digest`, {body, ...(key !== undefined && {key})});

test('a domain has digests once they are switched on, which takes an address for their links', async t => {
  const without = await startMailNode(t);
  const refused = await putDigest(without, {enabled: true});
  t.is(refused.status, 422);
  t.regex(refused.json.error.detail, /enabled needs recipients\.url in mfd\.yaml/);
  t.is((await putDigest(without, {at: '06:30'})).status, 200, 'what is set before counts later');
  t.like((await without.api('GET', `domains/${without.domainId}/digest`)).json.data, {enabled: false, at: '06:30'});

  const node = await startMailNode(t, {config: {recipients: {url: `${url}/`}}});
  const changed = await putDigest(node, {enabled: true, timezone: 'Europe/Berlin', actions: {sandbox: 'request'}});
  t.like(changed.json.data, {
    ...{domain: 'example.com', enabled: true, at: '07:00', timezone: 'Europe/Berlin', language: 'en', except: []},
    actions: {spam: 'release', phishing: 'request', sandbox: 'request', rbl: 'release'},
  });
  t.deepEqual((await node.api('GET', `domains/${node.domainId}/digest`)).json.data, changed.json.data);
  const [entry] = (await node.api('GET', 'audit?action=domain.digest')).json.data;
  t.like(entry, {target: 'example.com'});
  t.regex(entry.detail, /enabled=true timezone=Europe\/Berlin actions=spam:release,phishing:request,sandbox:request,rbl:release/);
  for (const [body, path] of [
    [{at: '25:00'}, 'at'],
    [{timezone: 'Nowhere'}, 'timezone'],
    [{language: 'fr'}, 'language'],
    [{actions: {virus: 'none'}}, 'actions.virus'],
    [{except: ['everybody']}, 'except.0'],
    [{on: true}, 'on'],
  ] as const) {
    const wrong = await putDigest(node, body);
    t.is(wrong.status, 422);
    t.is(wrong.json.error.fields[0].path, path);
  }
});

test('a digest goes to the backend of the domain, with a link for each mail, and not twice', async t => {
  const node = await startMailNode(t, {config: {recipients: {url, from: 'quarantine@example.org'}}});
  await putDigest(node, {enabled: true, except: ['info@example.com']});
  await node.hold({to: ['ben@example.com', 'info@example.com'], subject: 'first'});
  await node.hold({to: 'Ben+shop@example.com', subject: 'second'});
  const path = `domains/${node.domainId}/digest`;
  const preview = (await node.api('GET', `${path}/preview?address=ben@example.com`)).json.data;
  t.like(preview, {from: 'quarantine@example.org', to: 'ben@example.com', subject: '2 mails are held for you', mails: 2});
  t.is((await node.api('GET', `${path}/preview?address=ben@example.net`)).status, 422);
  t.is(node.sink.mails.length, 0);

  t.deepEqual((await node.api('POST', `${path}/send`)).json.data, {
    ...{domain: 'example.com', sent: 1, refused: 0, is_waiting: false, failure: null},
  });
  t.like((await node.api('POST', `${path}/send`)).json.data, {sent: 0});

  const [mail] = node.sink.mails;
  t.is(node.sink.mails.length, 1);
  t.deepEqual([mail?.sender, mail?.recipients], ['', ['ben@example.com']]);
  const {text, subject, from} = await PostalMime.parse(mail?.content ?? '');
  t.deepEqual([subject, from?.address], ['2 mails are held for you', 'quarantine@example.org']);
  t.true(text?.includes('first') && text.includes('second'));
  t.is([...(text ?? '').matchAll(/https:\/\/mail\.example\.com\/m\/1-[\w-]{22}$/gm)].length, 2);
  const own = await node.createKey('domain-admin', {domain: 'example.com'});
  const other = await node.createDomain({name: 'example.net'});
  const foreign = await node.createKey('domain-admin', {domain: 'example.net'});
  t.is((await node.api('GET', path, {key: own.key})).status, 200);
  t.is((await node.api('GET', path, {key: foreign.key})).status, 404);
  t.is((await node.api('GET', `${path}/preview?address=ben@example.com`, {key: foreign.key})).status, 404);
  t.is((await node.api('POST', `domains/${other.id}/digest/send`)).status, 409, 'it has none');
});

test('a digest is signed with the keys of its domain while that signs', async t => {
  const node = await startMailNode(t, {config: {recipients: {url}}});
  const {id, verified} = await createSigningDomain(node, {name: 'signed.example.com', direction: 'both'});
  const sendOf = async (domainId: number, to: string): Promise<Buffer> => {
    await node.hold({to});
    await node.api('PUT', `domains/${domainId}/digest`, {body: {enabled: true}});
    t.is((await node.api('POST', `domains/${domainId}/digest/send`)).json.data.sent, 1);
    return node.sink.mails.at(-1)?.content ?? Buffer.alloc(0);
  };

  const signed = await sendOf(id, 'ann@signed.example.com');
  const unsigned = [await sendOf(node.domainId, 'ben@example.com')];
  await node.updateDomain(id, {dkim_active: false});
  unsigned.push(await sendOf(id, 'ann@signed.example.com'));

  t.deepEqual(await verified(signed), ['e1 pass', 'r1 pass']);
  for (const content of unsigned) t.notRegex(content.toString(), /^dkim-signature:/im);
});
