// Access scopes of keys. The full matrix of permissions is in test/fault/matrix.ts.
import test from 'ava';
import {useApiNode} from '../helpers/api-node.ts';
import {apiLayers} from '../helpers/api-routes.ts';

const node = useApiNode();

test('every route begins with a guard: a key that reaches nothing passes none but that of /auth/me', async t => {
  for (const {path, stack} of apiLayers()) {
    if (path === '/api/v1/openapi.yaml') continue;
    const state = {actor: {keyId: 1, scope: 'full-admin', reach: {kind: 'none'}, remoteAddress: null}};
    const reached = Symbol('reached');
    const guard = stack[0] as unknown as (ctx: unknown, next: () => Promise<void>) => Promise<void>;
    const outcome = await guard({state, params: {}, querystring: '', get: () => ''}, () => Promise.reject(reached)).catch(
      (error: unknown) => error,
    );

    if (path === '/api/v1/auth/me') t.is(outcome, reached);
    else t.like(outcome, {code: 'insufficient_scope'}, String(path));
  }
});

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
