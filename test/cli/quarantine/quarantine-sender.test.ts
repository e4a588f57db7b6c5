import test, {type ExecutionContext} from 'ava';
import type {HeldMailDetail} from '../../../shared/held-mail.ts';
import type {MailFilter} from '../../../shared/mail-filter.ts';
import {filter as anyFilter, me} from '../../helpers/cli/sample-answers.ts';
import {detail, domain} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const filterOf = (action: 'allow' | 'block', id: number): MailFilter => ({
  ...anyFilter,
  ...{id, action, match: 'sender', header: null, score: null, pattern: 'news@example.org'},
});

interface Scene {
  scope?: string;
  permissions?: string[];
  training?: Reply;
  mail?: Partial<HeldMailDetail>;
  filters?: MailFilter[];
  globalFilters?: MailFilter[];
}

const startScene = async (
  t: ExecutionContext,
  {
    mail = {},
    filters = [],
    globalFilters = [],
    permissions = ['domains:write', 'cluster:write'],
    scope = 'full-admin',
    training = {},
  }: Scene = {},
) => {
  const held: HeldMailDetail = {...detail, queue_id: 'aaaaaa', sender: 'News@Example.ORG', ...mail};
  const added = {status: 201, data: filterOf('block', 7)};
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: held},
    'POST /mail/quarantine/mx1/aaaaaa/train': training,
    'GET /auth/me': {data: {...me, scope, permissions}},
    'GET /domains': {data: [domain]},
    [`GET /domains/${domain.id}/filters`]: {data: filters},
    'GET /filters': {data: globalFilters},
    [`POST /domains/${domain.id}/filters`]: added,
    'POST /filters': added,
  });
  const posts = () => api.requests.filter(({method}) => method === 'POST').map(({path, body}) => [path, JSON.parse(body)]);
  const asked = () => api.requests.map(({path}) => path);
  return {posts, asked, run: (...args: string[]) => api.mfctl(['quarantine', ...args])};
};

const unverified = {
  spf: {result: 'none', domain: ''},
  dkim: [],
  dmarc: {result: 'none', policy: null, domain: ''},
  arc: {result: 'none'},
};

test('block adds a filter for the sender to the domain of the mail, and says what it does', async t => {
  const {run, posts} = await startScene(t);

  const {code, stdout, stderr} = await run('block', 'mx1/aaaaaa');

  t.is(code, 0);
  t.regex(stdout, /^ID: +7\n/);
  t.is(stderr, 'later mail from news@example.org to example.com is refused; this mail stays held\n');
  t.deepEqual(posts(), [
    [
      `/domains/${domain.id}/filters`,
      {action: 'block', match: 'sender', pattern: 'news@example.org', comment: 'blocked from: mx1/aaaaaa'},
    ],
  ]);
});

test('allow with --all-domains adds a filter for all domains', async t => {
  const {run, posts} = await startScene(t);

  const {code, stderr} = await run('allow', 'mx1/aaaaaa', '--all-domains');

  t.is(code, 0);
  t.regex(stderr, /from news@example\.org to all domains is delivered whatever its score, if SPF or DKIM verifies the sender/);
  t.deepEqual(
    posts().map(([path, {action}]) => [path, action]),
    [['/filters', 'allow']],
  );
});

test('a dry run adds nothing, and says what would be', async t => {
  const {run, posts} = await startScene(t);

  const {code, stderr} = await run('block', 'mx1/aaaaaa', '--dry-run');

  t.is(code, 0);
  t.is(stderr, 'a dry run, nothing was changed: later mail from news@example.org to example.com is refused\n');
  t.deepEqual(posts(), []);
});

for (const [scope, args, why, hint] of [
  ['quarantine-only', [], 'a quarantine-only key may not add filters', 'use a key of scope domain-admin or full-admin'],
  [
    'domain-admin',
    ['--all-domains'],
    'a domain-admin key may not add filters for all domains',
    'leave out --all-domains, or use a key of scope full-admin',
  ],
] as const)
  test(`${why}, and is told so before anything is read, in a dry run as well`, async t => {
    const permissions = scope === 'domain-admin' ? ['quarantine:act', 'domains:read', 'domains:write'] : ['quarantine:act'];
    const {run, asked} = await startScene(t, {scope, permissions});

    for (const action of ['allow', 'block'])
      for (const dry of [[], ['--dry-run']]) {
        const {code, stdout, stderr} = await run(action, 'mx1/aaaaaa', ...args, ...dry);
        t.deepEqual([code, stdout], [4, '']);
        t.is(stderr, `error: ${why}: nothing was done (insufficient_scope)\nhint: ${hint}\n`);
      }
    t.deepEqual([...new Set(asked())], ['/auth/me']);
  });

test('a key whose domains are all gone is told that', async t => {
  const {run} = await startScene(t, {scope: 'domain-admin', permissions: ['me:read']});

  t.regex((await run('allow', 'mx1/aaaaaa')).stderr, /^error: every domain of this key is gone/);
});

test('a filter that is there already is shown, and none is added', async t => {
  const {run, posts} = await startScene(t, {filters: [filterOf('allow', 4)]});

  const {code, stdout, stderr} = await run('allow', 'mx1/aaaaaa');

  t.is(code, 0);
  t.regex(stdout, /^ID: +4\n/);
  t.regex(stderr, /^filter 4 was there already: later mail/);
  t.deepEqual(posts(), []);
});

for (const [where, filters] of [
  ['', [filterOf('block', 4)]],
  [' where one that allows it is there, too', [filterOf('allow', 3), filterOf('block', 4)]],
] as const)
  test(`a sender that is blocked is not allowed beside it${where}: the block wins, in a dry run as well`, async t => {
    const {run, posts} = await startScene(t, {filters: [...filters]});

    for (const args of [[], ['--dry-run']]) {
      const {code, stdout, stderr} = await run('allow', 'mx1/aaaaaa', ...args);
      t.deepEqual([code, stdout], [1, '']);
      t.is(
        stderr,
        'error: filter 4 of example.com blocks news@example.org, and wins over one that allows it (conflict)\nhint: mfctl domain filters remove example.com 4\n',
      );
    }
    t.deepEqual(posts(), []);
  });

test('a filter for all domains that blocks a sender stands against one for all domains that allows it, and not against one of a domain', async t => {
  const {run, posts} = await startScene(t, {globalFilters: [filterOf('block', 4)]});

  const forAll = await run('allow', 'mx1/aaaaaa', '--all-domains');
  t.is(forAll.code, 1);
  t.regex(forAll.stderr, /filter 4 for all domains blocks news@example\.org, and wins[^\n]*\nhint: mfctl filter remove 4\n/);
  t.deepEqual(posts(), []);

  const ofDomain = await run('allow', 'mx1/aaaaaa');
  t.is(ofDomain.code, 0);
  t.is(posts().length, 1);
});

for (const [action, other, said] of [
  ['block', 'allow', 'is refused'],
  ['allow', 'block', 'is delivered whatever its score, if SPF or DKIM verifies the sender'],
] as const)
  test(`${action} for all domains says that a filter of the domain which ${other}s the sender wins there`, async t => {
    const {run, posts} = await startScene(t, {filters: [filterOf(other, 4)]});
    const text = `later mail from news@example.org to all domains ${said}; but filter 4 of example.com ${other}s it there, and wins: mfctl domain filters remove example.com 4`;

    const dry = await run(action, 'mx1/aaaaaa', '--all-domains', '--dry-run');
    t.deepEqual([dry.code, dry.stderr, posts().length], [0, `a dry run, nothing was changed: ${text}\n`, 0]);

    const {code, stderr} = await run(action, 'mx1/aaaaaa', '--all-domains');
    t.deepEqual([code, stderr, posts().length], [0, `${text}; this mail stays held\n`, 1]);
  });

test('a sender that nothing verifies is not allowed, and is blocked with a warning', async t => {
  const {run, posts} = await startScene(t, {mail: {authentication: unverified as HeldMailDetail['authentication']}});

  const allowed = await run('allow', 'mx1/aaaaaa');
  t.deepEqual(posts(), []);
  const blocked = await run('block', 'mx1/aaaaaa');

  t.is(allowed.code, 1);
  t.regex(allowed.stderr, /anybody could write such mail[\s\S]*--allow --sender news@example\.org --no-authenticated/);
  t.is(blocked.code, 0);
  t.regex(blocked.stderr, /the owner of that address may have nothing to do with it/);
  t.is(posts().length, 1);
});

for (const [what, mail] of [
  ['a bounce', {sender: ''}],
  ['outbound mail', {direction: 'outbound'}],
] as const)
  test(`${what} has no sender to allow or block`, async t => {
    const {run, posts} = await startScene(t, {mail});

    for (const action of ['allow', 'block']) {
      const {code, stderr} = await run(action, 'mx1/aaaaaa');
      t.is(code, 1);
      t.regex(stderr, new RegExp(`no filter was added: .*${action}ed`));
    }
    t.deepEqual(posts(), []);
  });

const trained = (as: string, outcome: string) => ({data: {node_id: 'mx1', queue_id: 'aaaaaa', as, outcome}});

test('--train lets the scanner learn a blocked mail as spam and an allowed one as ham, after the filter, and says what it said', async t => {
  const said: string[] = [];
  for (const [action, as, outcome] of [
    ['block', 'spam', 'learned'],
    ['allow', 'ham', 'learned_before'],
    ['allow', 'ham', 'too_short'],
    ['allow', 'ham', 'nothing_new'],
  ] as const) {
    const {run, posts} = await startScene(t, {training: trained(as, outcome)});
    const {code, stderr} = await run(action, 'mx1/aaaaaa', '--train');
    t.is(code, 0);
    t.deepEqual(posts().slice(1), [['/mail/quarantine/mx1/aaaaaa/train', {as}]]);
    said.push(stderr.split('\n')[1] ?? '');
  }

  t.deepEqual(said, [
    'the scanner learned this mail as spam',
    'the scanner had learned this mail as ham before',
    'the scanner learned nothing: this mail has too few words',
    'the scanner learned nothing: it needs no more mail like this one',
  ]);
});

test('--train in a dry run trains nothing, and says what would be learned', async t => {
  const {run, posts} = await startScene(t);

  const {stderr} = await run('block', 'mx1/aaaaaa', '--train', '--dry-run');

  t.regex(stderr, /is refused; the scanner learns this mail as spam\n$/);
  t.deepEqual(posts(), []);
});

test('--train with a key that may not train adds no filter either', async t => {
  const {run, posts} = await startScene(t, {permissions: ['domains:write', 'quarantine:act']});

  const {code, stderr} = await run('block', 'mx1/aaaaaa', '--train');

  t.is(code, 4);
  t.regex(
    stderr,
    /key may not train the scanner of all domains: nothing was done[\s\S]*leave out --train, or use a key of scope full-admin/,
  );
  t.deepEqual(posts(), []);
});

test('a training that fails says that the filter was added all the same', async t => {
  const detail = 'node mx1 scores mail with the built-in scanner, which learns nothing';
  const refused = await startScene(t, {training: {status: 409, error: {code: 'conflict', detail}}});
  const missing = {code: 'not_found', detail: 'there is nothing at this path; GET /api/v1/openapi.yaml describes the interface'};
  const earlier = await startScene(t, {training: {status: 404, error: missing}});

  const {code, stdout, stderr} = await refused.run('block', 'mx1/aaaaaa', '--train');
  const beside = await earlier.run('block', 'mx1/aaaaaa', '--train');

  t.is(code, 1);
  t.regex(stdout, /^ID: +7\n/);
  t.regex(
    stderr,
    /is refused; this mail stays held\nerror: filter 7 was added; but node mx1 scores mail with the built-in scanner, which learns nothing \(conflict, request r-1\)\n$/,
  );
  t.is(beside.code, 5);
  t.regex(beside.stderr, /error: filter 7 was added; but this node does not know this request; it may run another version/);
});
