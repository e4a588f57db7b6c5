// Permissions of every kind of key: every route of the real router is called with every key, for every object that a request can
// name.
import {isDeepStrictEqual} from 'node:util';
import type {Scope} from '../../shared/scopes.ts';
import type {ApiAnswer} from '../helpers/api-call.ts';
import {type ApiRoute, apiRoutes} from '../helpers/api-routes.ts';
import {type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {otherAddress} from '../helpers/other-address.ts';
import type {Fault} from './fault.ts';
import {createTally, percentile} from './hostile.ts';
import {type Caller, callers, expectedOf, type Rule, refusal, rules, type Target, targets} from './matrix-rules.ts';
import {createWorld, type DomainThings, type World} from './matrix-world.ts';
import {memoryFolder} from './memory-folder.ts';

interface Cell {
  route: ApiRoute;
  rule: Rule;
  caller: Caller;
  target: Target;
  expected: string;
}

/** For a route without a rule: nobody may. */
const denied: Rule = {permitted: [], answers: {own: refusal}};

const nameOf = ({method, path}: ApiRoute) => `${method} ${path}`;

const cellsOf = (routes: ApiRoute[]): Cell[] =>
  routes.flatMap(route => {
    const rule = rules[nameOf(route)] ?? denied;
    const named = targets.filter(target => rule.answers[target] !== undefined);
    return callers.flatMap(caller =>
      named.map(target => ({route, rule, caller, target, expected: expectedOf(rule, caller, target)})),
    );
  });

/** The same request as a HEAD, without a content: a caller who may not GET must not learn that either. */
const headsOf = (cells: Cell[]): Cell[] =>
  cells
    .filter(({route}) => route.method === 'GET')
    .map(cell => ({...cell, route: {...cell.route, method: 'HEAD'}, expected: cell.expected.slice(0, 3)}));

/** Unsupported methods of a path are refused to callers with a key, and not even named to callers without one. */
const otherMethodsOf = (routes: ApiRoute[]): Cell[] =>
  [...new Set(routes.map(({path}) => path))].flatMap(path => {
    const there = routes.filter(route => route.path === path).map(({method}) => method);
    const isPublic = rules[`${there[0]} ${path}`]?.isPublic === true;
    const rule: Rule = {
      permitted: callers.flatMap(caller => ('scope' in caller ? [caller.scope] : [])),
      isForOrphans: true,
      answers: {own: '405 method_not_allowed'},
      ...(isPublic && {isPublic}),
    };
    return ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
      .filter(method => !there.includes(method))
      .flatMap(method =>
        callers.map(caller => ({
          route: {method, path},
          rule,
          caller,
          target: 'own' as const,
          expected: expectedOf(rule, caller, 'own'),
        })),
      );
  });

const allCells = (): Cell[] => {
  const routes = apiRoutes();
  const cells = cellsOf(routes);
  return [...cells, ...headsOf(cells), ...otherMethodsOf(routes)];
};

/** Only some of the invalid keys. */
const shortCells = (): Cell[] => allCells().filter(({caller}, n) => caller.kind !== 'bad' || n % 8 === 0);

const concurrency = 12;

export const matrix: Fault = {
  name: 'matrix',
  title: 'scope × endpoint × domain, generated from the router',
  get rounds() {
    return allCells().length;
  },
  get shortRounds() {
    return shortCells().length;
  },
  pass: 'deny by default, every cell answered as the contract says',

  async run({owner, rounds, isShort, say}) {
    const node = await startMailNode(owner, {domain: false, data: await memoryFolder(owner), config: {log: {level: 'warn'}}});
    const world = await createWorld(node);
    const before = await stateOf(node, world);
    const violations = [...(await unlikeRunning(node))];
    const outcomes = createTally();
    const tookMs: number[] = [];
    const waiting = (isShort ? shortCells() : allCells()).slice(0, rounds);
    const count = waiting.length;
    say(`${count} cells`);

    const ask = async (): Promise<void> => {
      for (let cell = waiting.shift(); cell; cell = waiting.shift()) {
        const startedAt = performance.now();
        const seen = await outcomeOf(node, world, cell).catch((error: unknown) => [String(error)]);
        tookMs.push(performance.now() - startedAt);
        outcomes.add(cell.expected.slice(0, 3));
        violations.push(
          ...seen.map(text => `${nameOf(cell.route)} by ${JSON.stringify(cell.caller)} of ${cell.target}: ${text}`),
        );
      }
    };
    await Promise.all(Array.from({length: concurrency}, ask));

    const after = await stateOf(node, world);
    for (const [name, was] of Object.entries(before))
      if (!isDeepStrictEqual(was, after[name]))
        violations.push(`${name} has changed: ${JSON.stringify(was)} ${JSON.stringify(after[name])}`);
    if (/"level":"(error|fatal)"/.test(node.log())) violations.push(`logged: ${node.log().slice(0, 1000)}`);
    return {
      rounds: count,
      violations,
      figures: {
        routes: apiRoutes().length,
        callers: callers.length,
        outcomes: outcomes.text(),
        'p99 ms': percentile(tookMs, 0.99),
      },
    };
  },
};

/** Differences between the routes of the built, running program and those of its source, by the methods that it allows. */
const unlikeRunning = async (node: MailNode): Promise<string[]> => {
  const routes = apiRoutes();
  const wrong = routes.filter(route => !rules[nameOf(route)]).map(route => `${nameOf(route)} has no expectation`);
  for (const path of new Set(routes.map(route => route.path))) {
    const {headers} = await node.api('OPTIONS', path.replace(/:\w+/g, 'abcdef1'));
    const there = routes.filter(route =>
      new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`).test(path.replace(/:\w+/g, 'abcdef1')),
    );
    const wanted = [...new Set(there.flatMap(({method}) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].sort().join(', ');
    if (headers.allow !== wanted) wrong.push(`${path} allows ${headers.allow}, and has ${wanted}`);
  }
  return wrong;
};

/** State that no cell may have changed: every request that removes an object has an object of its own. */
const stateOf = async (node: MailNode, {things: {own, other, deleted}}: World): Promise<Record<string, unknown>> => {
  const get = async (path: string) => (await node.api('GET', path)).json;
  const of = async ({domain: {id}, mail, keyId, globalFilterId}: DomainThings) => ({
    domain: (await get(`domains/${id}`)).data?.name,
    filter: (await get(`domains/${id}/filters`)).data?.filter((filter: {pattern: string}) => filter.pattern === 'x@bad.test'),
    forAll: (await get('filters')).data.find(({id: one}: {id: number}) => one === globalFilterId),
    dkim: (await get(`domains/${id}/dkim-keys`)).data?.filter(({selector}: {selector: string}) => selector === 'standing'),
    mail: (await get(`mail/quarantine/${mail.node_id}/${mail.queue_id}`)).data,
    key: (await get('auth/api-keys')).data.find(({id: one}: {id: number}) => one === keyId),
  });
  return {own: await of(own), other: await of(other), deleted: await of(deleted)};
};

/** The errors in the answer to a cell. */
const outcomeOf = async (node: MailNode, world: World, {route, rule, caller, target, expected}: Cell): Promise<string[]> => {
  const takes = rule.isDestructive && !expected.startsWith('4') && !expected.endsWith('not_found');
  const {things: given, key} = takes
    ? await world.fresh(target, caller)
    : {things: world.things[target], key: world.keyOf(caller)};
  const things = takes && route.path === '/webhooks/:id' ? {...given, webhookId: await world.newWebhook()} : given;
  const from = caller.kind === 'bad' ? {from: otherAddress()} : {};
  const answer = await node.api(route.method, pathOf(route, node, things), {key, ...bodyOf(route, things), ...from});
  const actual = route.method === 'HEAD' ? String(answer.status) : textOf(answer, nameOf(route));

  const wrong = actual === expected ? [] : [`answered ${actual} instead of ${expected}`];
  const {required_scopes} = answer.json?.error ?? {};
  if (actual === refusal && !isDeepStrictEqual(required_scopes, rule.permitted)) wrong.push(`demands ${required_scopes}`);
  const isBound = caller.kind === 'orphan' || (caller.kind === 'good' && caller.scope === 'domain-admin');
  const {domain, mail} = world.things.other;
  if (isBound && [domain.name, mail.queue_id].some(secret => String(answer.body).includes(secret) && target !== 'other'))
    wrong.push(`shows what belongs to another domain: ${String(answer.body).slice(0, 300)}`);
  return wrong;
};

const isBulk = (route: string) => /^POST \/mail\/quarantine\/(release|discard)$/.test(route);
const isList = (route: string) => /^GET \/mail\/(trace|quarantine(\/summary)?)$/.test(route);

const textOf = ({status, headers, json}: ApiAnswer, route: string): string => {
  if (status >= 400) return `${status} ${json.error.code}`;
  if (isBulk(route)) return `${status} ${json.data[0].error?.code ?? json.data[0].state}`;
  if (!isList(route)) return String(status);
  return `${status} ${Number(headers['x-total-count'] ?? json.data.count ?? json.data.length) > 0 ? 'some' : 'none'}`;
};

const pathOf = ({path}: ApiRoute, node: MailNode, things: DomainThings): string => {
  const {domain, filterId, selector, mail} = things;
  const values: Record<string, string> = {
    ':filter_id': String(filterId),
    ':selector': selector,
    ':queue_id': mail.queue_id,
    ':node_id': path.startsWith('/cluster') && domain.name === 'never.test' ? 'nobody' : node.node_id,
    ':day': '2026-03-01',
    ':policy_domain': domain.name,
    ':id': String(idFor(path, things)),
  };
  return `${path.replace(/:\w+/g, name => values[name] ?? name)}${queryOf(path, domain.name)}`;
};

const queryOf = (path: string, domain: string): string => {
  if (path.endsWith('/digest/preview')) return `?address=ann@${domain}`;
  return isList(`GET ${path}`) || path === '/dmarc/summary' || path === '/dmarc/sources' ? `?domain=${domain}` : '';
};

const idFor = (path: string, {domain, keyId, globalFilterId, webhookId}: DomainThings): number => {
  if (path.startsWith('/domains')) return domain.id;
  if (path.startsWith('/webhooks')) return webhookId;
  return path.startsWith('/filters') ? globalFilterId : keyId;
};

let made = 0;

/** A body that the route accepts, so that only the key can lead to a refusal. */
const bodyOf = (route: ApiRoute, {mail}: DomainThings): {body?: object} => {
  made += 1;
  const bodies: Record<string, object> = {
    'POST /auth/api-keys': {name: 'made by the matrix', scope: 'read-only' satisfies Scope},
    'POST /domains': {name: `made${made}.matrix.test`, direction: 'outbound'},
    'PUT /domains/:id': {},
    'PUT /domains/:id/retention': {days: 30},
    'PUT /domains/:id/digest': {at: '06:00'},
    'POST /domains/:id/filters': {action: 'block', match: 'sender', pattern: 'a@b.test'},
    'POST /filters': {action: 'block', match: 'sender', pattern: 'a@b.test'},
    'POST /webhooks': {url: 'https://hooks.invalid/'},
    'POST /webhooks/:id/replay': {since: '2026-03-01T09:30:00Z'},
    'POST /domains/:id/dkim-keys': {selector: `made${made}`, algorithm: 'ed25519'},
    'POST /mail/quarantine/release': {items: [mail]},
    'POST /mail/quarantine/discard': {items: [mail]},
    'POST /mail/quarantine/:node_id/:queue_id/train': {as: 'spam'},
  };
  const body = bodies[nameOf(route)];
  return body ? {body} : {};
};
