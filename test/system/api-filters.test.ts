// Mail filters for all domains: a list of their own, for full-admin keys.
import test from 'ava';
import {pathsOf} from '../helpers/api-call.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

const block = {action: 'block', match: 'sender_domain', pattern: '@SPAM.example'};

test.serial(
  'a filter for all domains is created in canonical form, listed without a domain, and deleted, and each is in the audit log',
  async t => {
    const {id: domainId} = await node().createDomain();

    const {status, json} = await node().api('POST', 'filters', {body: block});
    const {data: filter} = json;
    t.is(status, 201);
    t.deepEqual(Object.keys(filter), [
      'id',
      'action',
      'match',
      'header',
      'pattern',
      'score',
      'comment',
      'authenticated',
      'created_at',
    ]);
    t.like(filter, {action: 'block', pattern: 'spam.example', authenticated: false, comment: null});
    const letIn = await node().api('POST', 'filters', {body: {...block, action: 'allow'}});
    t.true(letIn.json.data.authenticated);
    t.deepEqual((await node().api('GET', 'filters')).json.data, [filter, letIn.json.data]);
    t.deepEqual((await node().api('GET', `domains/${domainId}/filters`)).json.data, []);

    t.is((await node().api('DELETE', `domains/${domainId}/filters/${filter.id}`)).status, 404);
    for (const {id} of [filter, letIn.json.data]) t.is((await node().api('DELETE', `filters/${id}`)).json.data, null);
    const again = await node().api('DELETE', `filters/${filter.id}`);
    t.like(again, {status: 404, json: {error: {code: 'not_found', detail: `there is no filter ${filter.id} for all domains`}}});
    t.deepEqual((await node().api('GET', 'filters')).json.data, []);
    for (const action of ['filter.create', 'filter.delete']) {
      const {data} = (await node().api('GET', `audit?action=${action}`)).json;
      t.true(
        data.some(({target}: {target: string}) => target === `all/${filter.id}`),
        action,
      );
    }
  },
);

test.serial('the rules of the fields are those of a domain’s filters, and a domain is no field', async t => {
  for (const [body, paths] of [
    [{action: 'score', match: 'subject', pattern: 'x'}, ['score']],
    [{action: 'block', match: 'sender', pattern: '*@example.com'}, ['pattern']],
    [{...block, authenticated: true}, ['authenticated']],
    [{...block, domain_id: 1}, ['domain_id']],
  ] as const) {
    const answer = await node().api('POST', 'filters', {body});
    t.is(answer.status, 422, JSON.stringify(body));
    t.deepEqual(pathsOf(answer), [...paths]);
  }
});

test.serial('keys of all other scopes may neither see nor change them', async t => {
  const {name} = await node().createDomain();
  const {id} = (await node().api('POST', 'filters', {body: block})).json.data;

  for (const [scope, bound] of [
    ['read-only', {}],
    ['quarantine-only', {}],
    ['domain-admin', {domain: name}],
  ] as const) {
    const {key} = await node().createKey(scope, bound);
    for (const [method, path, body] of [
      ['GET', 'filters'],
      ['POST', 'filters', block],
      ['DELETE', `filters/${id}`],
    ] as const) {
      const answer = await node().api(method, path, {key, ...(body && {body})});
      t.like(
        answer,
        {status: 403, json: {error: {code: 'insufficient_scope', required_scopes: ['full-admin']}}},
        `${scope} ${method}`,
      );
    }
  }

  t.is((await node().api('DELETE', `filters/${id}`)).status, 200);
});

test.serial(
  'a filter that lets in a public suffix is refused, for one domain and for all, and one that blocks it is not',
  async t => {
    const {id: domainId} = await node().createDomain();
    for (const path of ['filters', `domains/${domainId}/filters`]) {
      const letIn = await node().api('POST', path, {body: {action: 'allow', match: 'sender_domain', pattern: 'CO.uk.'}});
      const points = await node().api('POST', path, {
        body: {action: 'score', score: -3, match: 'header', header: 'From', pattern: '*@*.co.uk>'},
      });
      const blocked = await node().api('POST', path, {body: {...block, pattern: 'co.uk'}});

      t.deepEqual([letIn.status, points.status, blocked.status], [422, 422, 201], path);
      t.deepEqual([pathsOf(letIn), pathsOf(points)], [['pattern'], ['pattern']]);
      t.is((await node().api('DELETE', `${path}/${blocked.json.data.id}`)).status, 200);
    }
  },
);
