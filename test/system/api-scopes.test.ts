// Access scopes of keys. Their permissions are in test/daemon/http/api/endpoints.test.ts, and the full matrix in test/fault/matrix.ts.
import test from 'ava';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

test('a domain-admin key sees and changes its own domain only; another one might as well not exist', async t => {
  const own = await node().createDomain();
  const other = await node().createDomain();
  const {key} = await node().createKey('domain-admin', {domain: own.name});
  const filter = {action: 'block', match: 'sender_domain', pattern: 'spam.test'};
  const foreignFilter = (await node().api('POST', `domains/${other.id}/filters`, {body: filter})).json.data;
  const ownMail = await node().hold({to: `a@${own.name}`});
  const foreignMail = await node().hold({to: `a@${other.name}`});

  t.deepEqual((await node().api('GET', 'domains', {key})).json.data, [own]);
  t.is((await node().api('DELETE', `domains/${own.id}/filters/${foreignFilter.id}`, {key})).status, 404);
  const list = await node().api('GET', 'mail/quarantine', {key});
  t.is(list.headers['x-total-count'], '1');
  t.is(list.json.data[0].queue_id, ownMail.queue_id);
  t.is((await node().api('GET', 'mail/quarantine/summary', {key})).json.data.count, 1);
  const bulk = await node().api('POST', 'mail/quarantine/discard', {key, body: {items: [foreignMail, ownMail]}});
  t.is(bulk.json.data[0].error.code, 'not_found');
  t.is(bulk.json.data[1].state, 'discarded');
  const foreign = `mail/quarantine/${foreignMail.node_id}/${foreignMail.queue_id}`;
  t.is((await node().api('GET', foreign)).status, 200, 'the mail of the other domain is still held');
});
