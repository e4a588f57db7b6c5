// Mail filters and DKIM keys: parts that belong to a domain.
import {createPublicKey} from 'node:crypto';
import test from 'ava';
import {pathsOf} from '../helpers/api-call.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

test('a filter is created in canonical form, listed, and deleted', async t => {
  const {id} = await node().createDomain();
  const made: [object, object][] = [
    [
      {action: 'block', match: 'sender', pattern: 'News@EXAMPLE.com'},
      {pattern: 'news@example.com', header: null, score: null, comment: null},
    ],
    [{action: 'allow', match: 'sender_domain', pattern: '@Bücher.example.'}, {pattern: 'xn--bcher-kva.example'}],
    [
      {action: 'score', match: 'subject', pattern: '*offer\\*', score: -2.5, comment: 'shop'},
      {pattern: '*offer\\*', score: -2.5, comment: 'shop'},
    ],
    [
      {action: 'block', match: 'header', header: 'List-Id', pattern: '*ads*'},
      {header: 'List-Id', pattern: '*ads*'},
    ],
  ];

  const records = [];
  for (const [body, expected] of made) {
    const {status, json} = await node().api('POST', `domains/${id}/filters`, {body});
    t.is(status, 201);
    t.like(json.data, {...body, domain_id: id, ...expected});
    records.push(json.data);
  }
  t.deepEqual((await node().api('GET', `domains/${id}/filters`)).json.data, records);

  t.is((await node().api('DELETE', `domains/${id}/filters/${records[0].id}`)).json.data, null);
  t.is((await node().api('DELETE', `domains/${id}/filters/${records[0].id}`)).status, 404);
  t.deepEqual((await node().api('GET', `domains/${id}/filters`)).json.data, records.slice(1));
});

test('a filter with wrong fields is refused with all of them listed', async t => {
  const {id} = await node().createDomain();
  const refused: [object, string[]][] = [
    [{}, ['action', 'match', 'pattern']],
    [{action: 'delete', match: 'body', pattern: '', more: 1}, ['action', 'match', 'more', 'pattern']],
    [{action: 'score', match: 'subject', pattern: 'x'}, ['score']],
    [{action: 'block', match: 'subject', pattern: 'x', score: 1}, ['score']],
    [{action: 'score', match: 'subject', pattern: 'x', score: 1001}, ['score']],
    [{action: 'block', match: 'header', pattern: 'x'}, ['header']],
    [{action: 'block', match: 'subject', pattern: 'x', header: 'X-A'}, ['header']],
    [{action: 'block', match: 'header', pattern: 'x', header: 'X A:'}, ['header']],
    [{action: 'block', match: 'sender', pattern: 'no address'}, ['pattern']],
    [{action: 'block', match: 'sender', pattern: '*@example.com'}, ['pattern']],
    [{action: 'block', match: 'sender_domain', pattern: '*.example.com'}, ['pattern']],
    [{action: 'block', match: 'subject', pattern: 'lone \\'}, ['pattern']],
    [{action: 'block', match: 'subject', pattern: 'a\r\nb'}, ['pattern']],
    [{action: 'block', match: 'subject', pattern: 'x'.repeat(256)}, ['pattern']],
    [{action: 'block', match: 'subject', pattern: '*x'.repeat(21)}, ['pattern']],
    [{action: 'block', match: 'header', header: 'X-A', pattern: `*?${'x'.repeat(32)}*`}, ['pattern']],
    [{action: 'block', match: 'subject', pattern: 'x', comment: 'c'.repeat(201)}, ['comment']],
    [{action: 'block', match: 'subject', pattern: 'x', domain_id: 1, id: 2}, ['domain_id', 'id']],
  ];
  for (const [body, paths] of refused) {
    const answer = await node().api('POST', `domains/${id}/filters`, {body});
    t.is(answer.status, 422, JSON.stringify(body));
    t.deepEqual(pathsOf(answer), paths, JSON.stringify(body));
  }
  t.deepEqual((await node().api('GET', `domains/${id}/filters`)).json.data, []);
});

test('a DKIM key of either algorithm is answered with a record that DNS and verifiers take, and never with its private half', async t => {
  const {id, name} = await node().createDomain();

  const rsa = await node().api('POST', `domains/${id}/dkim-keys`, {body: {selector: 'mfd2026'}});
  const ed = await node().api('POST', `domains/${id}/dkim-keys`, {body: {selector: 'a.b-1', algorithm: 'ed25519'}});

  t.like(rsa.json.data, {algorithm: 'rsa-2048', domain_id: id, dns_name: `mfd2026._domainkey.${name}`});
  const rsaKey = /^v=DKIM1; k=rsa; p=([A-Za-z0-9+/]+=*)$/.exec(rsa.json.data.dns_record)?.[1] ?? '';
  const {asymmetricKeyDetails} = createPublicKey({key: Buffer.from(rsaKey, 'base64'), format: 'der', type: 'spki'});
  t.is(asymmetricKeyDetails?.modulusLength, 2048);

  t.like(ed.json.data, {algorithm: 'ed25519', dns_name: `a.b-1._domainkey.${name}`});
  const edKey = /^v=DKIM1; k=ed25519; p=([A-Za-z0-9+/]+=*)$/.exec(ed.json.data.dns_record)?.[1] ?? '';
  t.is(Buffer.from(edKey, 'base64').length, 32, 'RFC 8463 publishes the bare key');

  const list = await node().api('GET', `domains/${id}/dkim-keys`);
  t.deepEqual(list.json.data, [rsa.json.data, ed.json.data]);
  for (const {body} of [
    rsa,
    ed,
    list,
    await node().api('GET', 'audit?action=dkim.create'),
    await node().api('GET', `domains/${id}`),
  ])
    t.notRegex(body.toString(), /PRIVATE|private_key|MIIEv|MC4CAQ/);
});

test('a selector is one per domain and free again once its key is deleted', async t => {
  const {id} = await node().createDomain();
  const other = await node().createDomain();
  const create = async (domainId: number) =>
    node().api('POST', `domains/${domainId}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});

  const answers = await Promise.all([create(id), create(id), create(id), create(id)]);
  t.deepEqual(answers.map(({status}) => status).sort(), [201, 409, 409, 409]);
  t.is((await create(other.id)).status, 201);

  t.is((await node().api('DELETE', `domains/${id}/dkim-keys/s1`)).status, 200);
  t.is((await node().api('DELETE', `domains/${id}/dkim-keys/s1`)).status, 404);
  const again = await create(id);
  t.is(again.status, 201);
  t.deepEqual((await node().api('GET', `domains/${id}/dkim-keys`)).json.data, [again.json.data]);
  t.is((await node().api('GET', `domains/${other.id}/dkim-keys`)).json.data.length, 1);
});

test('wrong DKIM requests are refused', async t => {
  const {id} = await node().createDomain();
  const selectors = ['', 'UPPER', 'a b', '-a', 'a-', 'a..b', '.a', 'ü', 'a'.repeat(64), '../x', 'a\n', 5, null];
  for (const selector of selectors) {
    const answer = await node().api('POST', `domains/${id}/dkim-keys`, {body: {selector, algorithm: 'ed25519'}});
    t.is(answer.status, 422, JSON.stringify(selector));
    t.deepEqual(pathsOf(answer), ['selector']);
  }
  const both = await node().api('POST', `domains/${id}/dkim-keys`, {body: {algorithm: 'rsa-512', private_key_pem: 'mine'}});
  t.deepEqual(pathsOf(both), ['algorithm', 'private_key_pem', 'selector']);
  for (const selector of ['none', '%00', '..%2f..', 'x'.repeat(2000), '%F0%9F%98%80', '%zz'])
    t.is((await node().api('DELETE', `domains/${id}/dkim-keys/${selector}`)).status, 404, selector.slice(0, 20));
});
