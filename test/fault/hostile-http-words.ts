// Vocabulary of a hostile HTTP client: parts of paths, parameters, members, values and whole bodies.

export const segments = [
  ...'auth me domains filters webhooks quarantine release .. .'.split(' '),
  '',
  ...'..%2f %00 %ff %zz % %F0%9F%98%80 0 -1 1e9'.split(' '),
  '9'.repeat(30),
  'x'.repeat(300),
  ';',
  '*',
  "'",
  ...'__proto__ constructor %2e%2e 1.0 0x10 +1'.split(' '),
  '\\',
];

export const parameterNames = [
  ...'limit offset domain sender since until min_score max_score reason node recipient subject strict force'.split(' '),
  ...'key_id action type __proto__ limit[] x'.split(' '),
  '',
];

export const parameterValues = [
  ...'1 1000 0 -1 1e9 1001 999999999999999999999 true spam a.test u@a.test <> 2026-01-01T00:00:00Z'.split(' '),
  ...'0000-01-01T00:00:00-23:59 9999-12-31T23:59:59-23:59 % _'.split(' '),
  '\\',
  '\u0000',
  "' OR 1=1 --",
  'domain.create',
  '*',
  '"',
  '\u202e',
  '\ud83d\ude00',
  'x'.repeat(5000),
  '',
  ' ',
  '+',
  'held',
  'NaN',
  'Infinity',
];

export const members = [
  ...'name scope domain expires_at rate_limit_per_minute direction active backend_servers quarantine_threshold'.split(' '),
  ...'reject_threshold tenant_id action match pattern score header selector algorithm items id at __proto__'.split(' '),
  ...'constructor toJSON x'.split(' '),
];

export const oddValues: unknown[] = [
  ...'read-only full-admin a.test block score subject inbound 2099-01-01T00:00:00Z ed25519 s1 mx.test:25'.split(' '),
  ...'[::1]:25'.split(' '),
  '',
  '\u0000',
  '\ud800',
  'x'.repeat(2000),
  '(a+)+$',
  '*'.repeat(50),
  0,
  1,
  -1,
  6.5,
  1e308,
  -0,
  2 ** 53,
  true,
  false,
  null,
  ['mx.test:25'],
  [],
  {},
  [{node_id: 'x', queue_id: 'abcdef'}],
  [[[[]]]],
  ['mx.test:25', 5],
  {toString: 1},
  {length: {toString: 1}},
  {length: 3},
];

export const oddBodies = [
  '',
  ...'{ [] null 0 "x" {"a":1,"a":2} {"__proto__":{"scope":"full-admin"}}'.split(' '),
  '\ufeff{}',
  '{}{}',
  "{'a':1}",
  `${'['.repeat(100)}`,
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  `{"name":"${'x'.repeat(70_000)}"}`,
  '{"name":"\\ud800"}',
  '{"a":1e999}',
  'a=b',
  '<xml/>',
  '{"items":[]}',
];

export const contentTypes = [
  ...'application/json application/json application/json application/merge-patch+json text/plain'.split(' '),
  'application/json; charset=x',
  '',
  ';',
];
