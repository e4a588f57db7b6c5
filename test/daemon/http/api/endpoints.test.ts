// Declarations of endpoints against the contract. What a real node answers to each scope is in test/fault/matrix.ts.
import test from 'ava';
import {parse} from 'yaml';
import {z} from 'zod';
import {type Endpoint, routePath} from '../../../../daemon/http/api/endpoint.ts';
import {adminText, curatedText} from '../../../../daemon/http/api/openapi-text.ts';
import {type Scope, scopes} from '../../../../shared/scopes.ts';
import {rules} from '../../../fault/matrix-rules.ts';
import {apiLayers} from '../../../helpers/api-routes.ts';

const prefix = '/api/v1';

/** `GET /domains/:id`, as the contract's table of scopes has it. */
const routes = apiLayers().map(layer => ({
  layer,
  path: String(layer.path),
  name: `${layer.methods.find(method => method !== 'HEAD')} ${String(layer.path).slice(prefix.length)}`,
}));

type Guard = (ctx: unknown, next: () => Promise<void>) => Promise<void>;

/** Whether the first handler of a route passes a request on. */
const passes = async ({layer}: (typeof routes)[number], scope: Scope, kind: 'all' | 'none'): Promise<boolean> => {
  const state = {actor: {keyId: 1, scope, reach: {kind}, remoteAddress: null}};
  const reached = Symbol('reached');
  const outcome = await (layer.stack[0] as unknown as Guard)({state}, () => Promise.reject(reached)).catch(
    (error: unknown) => error,
  );
  if (outcome === reached) return true;
  if ((outcome as {code?: string}).code === 'insufficient_scope') return false;
  throw outcome;
};

test('every route begins with a guard that admits the scopes of the contract, and no others', async t => {
  t.true(routes.length > 20);
  for (const route of routes) {
    const admitted: Scope[] = [];
    for (const scope of scopes) if (await passes(route, scope, 'all')) admitted.push(scope);

    t.deepEqual(admitted, [...(rules[route.name]?.permitted ?? [])], route.name);
  }
});

for (const [kind, text] of Object.entries({curated: curatedText, 'administrators’': adminText}))
  test(`the ${kind} description names the scopes of the contract for each operation`, t => {
    const {paths} = parse(text) as {paths: Record<string, Record<string, {description: string}>>};
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, {description}]) => ({
        name: `${method.toUpperCase()} ${routePath(path)}`,
        description,
      })),
    );

    t.true(described.length > 5);
    for (const {name, description} of described) t.is(description, `Scopes: ${rules[name]?.permitted.join(', ')}`, name);
  });

test('a key that reaches nothing passes no guard but that of /auth/me', async t => {
  for (const route of routes) t.is(await passes(route, 'full-admin', 'none'), route.name === 'GET /auth/me', route.name);
});

test('no route is shadowed by another one, in whichever order they are declared', t => {
  for (const {layer, path, name} of routes) {
    // A parameter may have the name of whatever stands at its place in the path of another route.
    const asked = path.replace(/:\w+/g, 'value');
    const answering = routes.filter(
      other => layer.methods.some(method => other.layer.methods.includes(method)) && other.layer.match(asked),
    );

    t.deepEqual(
      answering.map(route => route.name),
      [name],
    );
  }
});

test('the preview of a report is described as one report of all nodes, not as what a node would send', t => {
  const {paths, components} = parse(adminText);

  const {summary} = paths['/dmarc/reports/{day}/{policy_domain}'].get;
  const {count, xml} = components.schemas.DmarcReportPreview.properties;

  t.regex(summary, /what all nodes have counted/);
  t.regex(count.description, /all nodes together/);
  t.regex(xml.description, /each send one on what they counted themselves/);
});

test('an endpoint without a permission does not compile', t => {
  const run = async () => undefined;
  const answer = () => ({status: 200 as const, content: {'application/json': {schema: z.null()}}});
  const declared = {method: 'get' as const, path: '/x', operationId: 'getX', tag: 'Cluster', summary: 'X', answer, run};

  // @ts-expect-error: the permission is missing.
  const open: Endpoint = declared;
  const guarded: Endpoint = {...declared, permission: 'me:read'};

  t.not(open.permission, guarded.permission);
});
