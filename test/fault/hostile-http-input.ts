// Well-formed HTTP requests to every operation of the router, with parameters from the interface description and with unexpected
// ones.
import {type ApiRoute, apiRoutes} from '../helpers/api-routes.ts';
import type {Description} from '../helpers/described.ts';
import {contentTypes, members, oddBodies, oddValues, parameterNames, parameterValues, segments} from './hostile-http-words.ts';
import type {Random} from './random.ts';
import {createSampler} from './sample.ts';

export interface HttpInput {
  method: string;
  path: string;
  body?: string | Buffer;
  headers: Record<string, string>;
}

/** Path values of existing objects. */
export interface PathValues {
  domainId: number;
  keyId: number;
  nodeId: string;
  queueId: string;
}

/** Valid bodies for routes that are not in the description, and for some that are. */
const rightBodies: Record<string, object> = {
  'POST /auth/api-keys': {name: 'made', scope: 'read-only'},
  'POST /domains': {name: 'made.test', backend_servers: ['mx.test:25']},
  'PUT /domains/:id': {quarantine_threshold: 5},
  'POST /domains/:id/filters': {action: 'block', match: 'subject', pattern: 'x'},
  'POST /filters': {action: 'block', match: 'subject', pattern: 'x'},
  'POST /webhooks': {url: 'https://hooks.invalid/', events: ['held']},
  'POST /webhooks/:id/replay': {since: '2026-03-01T09:30:00Z'},
  'POST /domains/:id/dkim-keys': {selector: 's1', algorithm: 'ed25519'},
  'POST /mail/quarantine/release': {items: [{node_id: 'x', queue_id: 'abcdef'}]},
  'POST /mail/quarantine/discard': {items: [{node_id: 'x', queue_id: 'abcdef'}]},
  'POST /mail/quarantine/:node_id/:queue_id/train': {as: 'ham'},
  'POST /auth/api-keys/:id/revoke': {at: '2099-01-01T00:00:00Z'},
  'POST /cluster/tokens': {expires_in_s: 60},
};

export const createHttpInputs = (document: Description): ((random: Random, values: PathValues) => HttpInput) => {
  const routes = apiRoutes();
  const sample = createSampler(document);
  const operationOf = ({method, path}: ApiRoute) => document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];

  const described = (random: Random, route: ApiRoute): {query: string; body?: string} => {
    const operation = operationOf(route);
    const parameters = (operation?.parameters ?? []).filter(parameter => parameter.in === 'query' && random.chance(0.2));
    const query = parameters.map(({name, schema}) => `${name}=${encodeURIComponent(String(sample(random, schema)))}`).join('&');
    const schema = operation?.requestBody?.content['application/json']?.schema;
    return {query: query && `?${query}`, ...(schema && {body: JSON.stringify(sample(random, schema))})};
  };

  return (random, values) => {
    const route = random.pick(routes);
    const right = rightBodies[`${route.method} ${route.path}`];
    const {query, body} = described(random, route);
    const method = random.chance(0.95)
      ? withoutBody(random, route.method)
      : random.pick(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PURGE']);
    const bodyless = method === 'GET' || method === 'HEAD' || method === 'TRACE';
    const sent = bodyless ? undefined : bodyOf(random, {right, described: body});
    return {
      method,
      path: `${pathOf(random, route.path, values)}${random.chance(0.7) ? query : queryOf(random)}`,
      headers: headersOf(random),
      ...(sent !== undefined && {body: sent}),
    };
  };
};

/** A GET may be replaced by a HEAD. */
const withoutBody = (random: Random, method: string): string => (method === 'GET' && random.chance(0.1) ? 'HEAD' : method);

const pathOf = (random: Random, template: string, values: PathValues): string => {
  if (random.chance(0.07)) return Array.from({length: random.between(0, 6)}, () => random.pick(segments)).join('/');
  const right: Record<string, string> = {
    ':id': String(template.startsWith('/domains') ? values.domainId : values.keyId),
    ':filter_id': '1',
    ':selector': 's1',
    ':node_id': values.nodeId,
    ':queue_id': values.queueId,
  };
  return template.replace(/:\w+/g, name => (random.chance(0.8) ? (right[name] ?? name) : random.pick(segments)));
};

const queryOf = (random: Random): string => {
  const pairs = Array.from({length: random.between(0, 3)}, () => {
    const value = random.pick(parameterValues);
    return `${random.pick(parameterNames)}=${random.chance(0.9) ? encodeURIComponent(value) : '%zz%'}`;
  });
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};

const bodyOf = (
  random: Random,
  {right, described}: {right: object | undefined; described: string | undefined},
): string | Buffer | undefined => {
  const kind = random.next();
  if (kind < 0.4 && described !== undefined) return described;
  if (kind < 0.75 && right) return JSON.stringify({...right, ...Object.fromEntries(some(random, 1))});
  if (kind < 0.85) return JSON.stringify(Object.fromEntries(some(random, 6)));
  if (kind < 0.93) return random.pick(oddBodies);
  if (kind < 0.95) return random.bytes(random.between(0, 60));
  return undefined;
};

const some = (random: Random, most: number): [string, unknown][] =>
  Array.from({length: random.between(0, most)}, () => [random.pick(members), random.pick(oddValues)]);

const headersOf = (random: Random): Record<string, string> => ({
  ...(random.chance(0.3) && {'Content-Type': random.pick(contentTypes)}),
  ...(random.chance(0.1) && {'If-Match': random.pick(['*', '"x"', 'W/"x"', ',,,', '"', ''])}),
  ...(random.chance(0.1) && {Accept: random.pick(['text/html', '*/*', 'x', ''])}),
  ...(random.chance(0.05) && {'Content-Encoding': random.pick(['gzip', 'identity', 'x'])}),
  ...(random.chance(0.05) && {Expect: random.pick(['100-continue', 'x'])}),
  ...(random.chance(0.05) && {'X-Forwarded-For': '127.0.0.1', 'X-HTTP-Method-Override': 'DELETE', 'X-Request-Id': '\t"x'}),
  ...(random.chance(0.02) && {'Last-Event-ID': 'x'.repeat(4000)}),
});
