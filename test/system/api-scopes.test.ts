// The contract's table of scopes, route by route. A route that is not in the table, or has no guard, fails a test here.
import Router from '@koa/router';
import test from 'ava';
import {routeCluster} from '../../daemon/http/routes-cluster.ts';
import {routeClusterNodes} from '../../daemon/http/routes-cluster-nodes.ts';
import {routeDomains} from '../../daemon/http/routes-domains.ts';
import {routeEvents} from '../../daemon/http/routes-events.ts';
import {routeKeys} from '../../daemon/http/routes-keys.ts';
import {routeQuarantine} from '../../daemon/http/routes-quarantine.ts';
import type {RequestState} from '../../daemon/http/state.ts';
import {type Scope, scopes} from '../../shared/scopes.ts';
import {useApiNode} from '../helpers/api-node.ts';

const node = useApiNode();

const everyone = scopes;
const readers: Scope[] = ['read-only', 'full-admin'];
const domainReaders: Scope[] = ['read-only', 'domain-admin', 'full-admin'];
const domainWriters: Scope[] = ['domain-admin', 'full-admin'];
const admins: Scope[] = ['full-admin'];
const actors: Scope[] = ['quarantine-only', 'domain-admin', 'full-admin'];

const table: [route: string, permitted: readonly Scope[]][] = [
  ['GET /auth/me', everyone],
  ['GET /auth/api-keys', readers],
  ['POST /auth/api-keys', admins],
  ['POST /auth/api-keys/:id/revoke', admins],
  ['DELETE /auth/api-keys/:id', admins],
  ['GET /domains', domainReaders],
  ['POST /domains', admins],
  ['GET /domains/:id', domainReaders],
  ['PUT /domains/:id', domainWriters],
  ['DELETE /domains/:id', domainWriters],
  ['GET /domains/:id/filters', domainReaders],
  ['POST /domains/:id/filters', domainWriters],
  ['DELETE /domains/:id/filters/:filter_id', domainWriters],
  ['GET /domains/:id/dkim-keys', domainReaders],
  ['POST /domains/:id/dkim-keys', domainWriters],
  ['DELETE /domains/:id/dkim-keys/:selector', domainWriters],
  ['GET /mail/quarantine', everyone],
  ['GET /mail/quarantine/summary', everyone],
  ['GET /mail/quarantine/:node_id/:queue_id', everyone],
  ['GET /mail/quarantine/:node_id/:queue_id/body', everyone],
  ['POST /mail/quarantine/release', actors],
  ['POST /mail/quarantine/discard', actors],
  ['POST /mail/quarantine/:node_id/:queue_id/release', actors],
  ['POST /mail/quarantine/:node_id/:queue_id/discard', actors],
  ['GET /cluster/status', readers],
  ['GET /cluster/drift', readers],
  ['POST /cluster/tokens', admins],
  ['DELETE /cluster/nodes/:node_id', admins],
  ['GET /audit', readers],
  ['GET /events', everyone],
];

/** The routes as the API declares them, with services that must never be asked. */
const declaredRoutes = () => {
  const router = new Router<RequestState>();
  const nobody = new Proxy({}, {get: () => () => Promise.reject(new Error('a service was asked'))}) as never;
  routeKeys(router, nobody);
  routeDomains(router, nobody, nobody);
  routeQuarantine(router, nobody);
  routeCluster(router, nobody);
  routeClusterNodes(router, nobody, nobody);
  routeEvents(router, nobody);
  return router.stack;
};

test('every route the API declares is in the table of scopes', t => {
  const declared = declaredRoutes().flatMap(({methods, path}) =>
    methods.filter(method => method !== 'HEAD').map(method => `${method} ${path}`),
  );

  t.deepEqual(declared.toSorted(), table.map(([route]) => route).toSorted());
});

test('every route begins with a guard: a key that reaches nothing passes none but that of /auth/me', async t => {
  for (const {path, stack} of declaredRoutes()) {
    const state = {actor: {keyId: 1, scope: 'full-admin', reach: {kind: 'none'}, remoteAddress: null}};
    const reached = Symbol('reached');
    const guard = stack[0] as unknown as (ctx: unknown, next: () => Promise<void>) => Promise<void>;
    const outcome = await guard({state, params: {}, querystring: '', get: () => ''}, () => Promise.reject(reached)).catch(
      (error: unknown) => error,
    );

    if (path === '/auth/me') t.is(outcome, reached);
    else t.like(outcome, {code: 'insufficient_scope'}, String(path));
  }
});

test('each scope may do what the table says and nothing else', async t => {
  const domain = await node().createDomain();
  const path = pathsOf({domainId: domain.id});

  for (const scope of scopes) {
    const {key} = await node().createKey(scope, scope === 'domain-admin' ? {domain: domain.name} : {});
    for (const [route, permitted] of table) {
      // What would end the domain comes last, by itself.
      if (route === 'DELETE /domains/:id' && permitted.includes(scope)) continue;
      const {status, json} = await node().api(...path(route), {key, ...bodyFor(route)});

      if (permitted.includes(scope)) t.false([401, 403, 405, 415, 500].includes(status), `${scope} ${route}: ${status}`);
      else {
        t.is(status, 403, `${scope} ${route}`);
        t.is(json.error.code, 'insufficient_scope');
        t.deepEqual(json.error.required_scopes, permitted, route);
      }
    }
  }
});

test('without a key every route answers 401, known or not', async t => {
  const path = pathsOf({domainId: 1});

  for (const [method, url] of [
    ...table.map(([route]) => path(route)),
    ['GET', ''],
    ['GET', 'no/such/thing'],
    ['PATCH', 'domains'],
  ] as const) {
    const {status, json} = await node().api(method, url, {key: null});
    t.is(status, 401, `${method} ${url}`);
    t.is(json.error.code, 'key_missing');
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
  t.is((await node().api('PUT', `domains/${own.id}`, {key, body: {quarantine_threshold: 5}})).status, 200);

  const ofOther = pathsOf({domainId: other.id, filterId: foreignFilter.id});
  for (const [route] of table.filter(([, permitted]) => permitted !== admins && permitted.includes('domain-admin'))) {
    if (!route.includes('/domains/:id')) continue;
    const {status, json} = await node().api(...ofOther(route), {key, ...bodyFor(route)});
    t.is(status, 404, route);
    t.is(json.error.code, 'not_found');
  }
  t.is((await node().api('DELETE', `domains/${own.id}/filters/${foreignFilter.id}`, {key})).status, 404);

  const list = await node().api('GET', 'mail/quarantine', {key});
  t.is(list.headers['x-total-count'], '1');
  t.is(list.json.data[0].queue_id, ownMail.queue_id);
  t.is((await node().api('GET', `mail/quarantine?domain=${other.name}`, {key})).headers['x-total-count'], '0');
  t.is((await node().api('GET', 'mail/quarantine/summary', {key})).json.data.count, 1);

  const foreign = `mail/quarantine/${foreignMail.node_id}/${foreignMail.queue_id}`;
  for (const [method, url] of [
    ['GET', foreign],
    ['GET', `${foreign}/body`],
    ['POST', `${foreign}/release`],
    ['POST', `${foreign}/discard`],
  ] as const)
    t.is((await node().api(method, url, {key})).json.error.code, 'not_found', url);
  const bulk = await node().api('POST', 'mail/quarantine/discard', {key, body: {items: [foreignMail, ownMail]}});
  t.is(bulk.json.data[0].error.code, 'not_found');
  t.is(bulk.json.data[1].state, 'discarded');
  t.is((await node().api('GET', foreign)).status, 200, 'the mail of the other domain is still held');
});

test('a domain-admin key whose domain is gone may do nothing but ask who it is, even when the name comes back', async t => {
  const {id, name} = await node().createDomain();
  const {key} = await node().createKey('domain-admin', {domain: name});
  const mail = await node().hold({to: `a@${name}`});
  t.is((await node().api('DELETE', `domains/${id}`, {key})).status, 200);
  const successor = await node().createDomain({name});
  const later = await node().hold({to: `b@${name}`});

  const me = await node().api('GET', 'auth/me', {key});
  t.is(me.status, 200);
  t.deepEqual(me.json.data.permissions, ['me:read']);
  for (const domainId of [id, successor.id])
    for (const queueId of [mail.queue_id, later.queue_id])
      for (const [route] of table) {
        if (route === 'GET /auth/me') continue;
        const {status} = await node().api(...pathsOf({domainId, queueId})(route), {key, ...bodyFor(route)});
        t.is(status, 403, route);
      }
});

const pathsOf =
  ({domainId, filterId = 1, queueId = 'unknown1'}: {domainId: number; filterId?: number; queueId?: string}) =>
  (route: string): [string, string] => {
    const [method = '', path = ''] = route.split(' ');
    const values: Record<string, string> = {
      ':filter_id': String(filterId),
      ':selector': 'none',
      ':node_id': node().node_id,
      ':queue_id': queueId,
      ':id': path.startsWith('/domains') ? String(domainId) : '4242',
    };
    return [method, path.replace(/:\w+/g, name => values[name] ?? name)];
  };

/** Something each route accepts, so that only the scope can be in the way. */
const bodyFor = (route: string): {body?: object} => {
  if (route === 'POST /auth/api-keys') return {body: {name: 'made by a test', scope: 'read-only'}};
  if (route === 'POST /domains') return {body: {name: `d${Math.random().toString(36).slice(2)}.test`, direction: 'outbound'}};
  if (route === 'PUT /domains/:id') return {body: {}};
  if (route === 'POST /domains/:id/filters') return {body: {action: 'block', match: 'sender', pattern: 'a@b.test'}};
  if (route === 'POST /domains/:id/dkim-keys')
    return {body: {selector: `s${Math.random().toString(36).slice(2)}`, algorithm: 'ed25519'}};
  if (/quarantine\/(release|discard)$/.test(route)) return {body: {items: [{node_id: node().node_id, queue_id: 'unknown1'}]}};
  return {};
};
