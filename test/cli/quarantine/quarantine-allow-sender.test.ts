import test, {type ExecutionContext} from 'ava';
import type {HeldMailDetail, MailReference} from '../../../shared/held-mail.ts';
import type {MailFilter} from '../../../shared/mail-filter.ts';
import {filter as anyFilter, me} from '../../helpers/cli/sample-answers.ts';
import {detail, domain, hostile, outcome} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const allowOf = (sender: string, more: Partial<MailFilter> = {}): MailFilter => ({
  ...anyFilter,
  id: 5,
  action: 'allow',
  match: 'sender',
  header: null,
  score: null,
  pattern: sender,
  ...more,
});

interface Scene {
  mails: (Partial<HeldMailDetail> & {queue_id: string})[];
  filters?: MailFilter[];
  permissions?: string[];
  post?: () => Reply;
}

/** A node that holds `mails`, of example.com by default, and accepts filters. */
const startScene = async (t: ExecutionContext, {mails, filters = [], permissions = ['domains:write'], post}: Scene) => {
  const held = mails.map((mail): HeldMailDetail => ({...detail, sender: 'news@example.org', ...mail}));
  const released = (item: MailReference) =>
    item.queue_id === 'nnnnnn' ? {...item, error: {code: 'delivery_failed', detail: 'refused'}} : outcome(item.queue_id);
  const api = await startApi(t, {
    'GET /auth/me': {data: {...me, scope: 'quarantine-only', permissions}},
    'GET /mail/quarantine': {data: held.map(({domain: _, direction: __, ...mail}) => mail)},
    ...Object.fromEntries(held.map(mail => [`GET /mail/quarantine/mx1/${mail.queue_id}`, {data: mail}])),
    ...Object.fromEntries(
      mails.map(({queue_id}) => [`POST /mail/quarantine/mx1/${queue_id}/release`, {data: outcome(queue_id)}]),
    ),
    'POST /mail/quarantine/release': ({body}) => ({data: JSON.parse(body).items.map(released)}),
    'GET /domains': {data: [domain]},
    [`GET /domains/${domain.id}/filters`]: {data: filters},
    [`POST /domains/${domain.id}/filters`]: ({body}) => post?.() ?? {status: 201, data: allowOf(JSON.parse(body).pattern)},
  });
  const added = () => api.requests.filter(({method, path}) => method === 'POST' && path.endsWith('/filters'));
  const acted = () => api.requests.filter(({method, path}) => method === 'POST' && path.includes('/release'));
  const release = (args: string[], options?: object) => api.mfctl(['quarantine', 'release', ...args, '--allow-sender'], options);
  return {...api, added, acted, release};
};

test('the sender of a released mail is allowed in its domain, and standard output is as without it', async t => {
  const {release, added, acted, mfctl} = await startScene(t, {mails: [{queue_id: 'aaaaaa', sender: 'News@Example.ORG'}]});

  const {code, stdout, stderr} = await release(['mx1/aaaaaa', '-o', 'json']);
  const without = await mfctl(['quarantine', 'release', 'mx1/aaaaaa', '-o', 'json']);

  t.is(code, 0);
  t.is(stdout, without.stdout);
  t.is(stderr, 'allowed: news@example.org in example.com (filter 5)\n');
  t.is(acted().length, 2);
  t.deepEqual(
    added().map(({body}) => JSON.parse(body)),
    [{action: 'allow', match: 'sender', pattern: 'news@example.org', comment: 'released: mx1/aaaaaa'}],
  );
});

test('many mails make one filter for each sender and domain, and what was not released makes none', async t => {
  const {release, added} = await startScene(t, {
    mails: [
      {queue_id: 'aaaaaa'},
      {queue_id: 'bbbbbb', sender: 'NEWS@example.org'},
      {queue_id: 'cccccc', sender: 'other@example.org'},
      {queue_id: 'nnnnnn', sender: 'not@example.org'},
    ],
  });

  const {code, stdout, stderr} = await release(['-', '-o', 'ndjson'], {
    input: 'mx1/aaaaaa\nmx1/bbbbbb\nmx1/cccccc\nmx1/nnnnnn\n',
  });

  t.is(code, 6);
  t.is(stdout.trimEnd().split('\n').length, 4);
  t.deepEqual(
    added().map(({body}) => JSON.parse(body).pattern),
    ['news@example.org', 'other@example.org'],
  );
  t.notRegex(stderr, /not@example\.org/);
  t.regex(stderr, /1 of 4 mails could not be released/);
});

test('all that matches: the senders are said before the question, and asked for once each', async t => {
  const mails = Array.from({length: 30}, (_, at) => ({
    queue_id: `q${String(at).padStart(6, '0')}`,
    sender: at < 15 ? 'news@example.org' : `list${at}@example.org`,
  }));
  const {release, added, acted, requests} = await startScene(t, {mails});

  const refused = await release(['--all-matching'], {columns: 100, input: 'n\n'});
  const details = requests.filter(({path}) => path.startsWith('/mail/quarantine/mx1/'));
  t.deepEqual([refused.code, added().length, acted().length], [3, 0, 0]);
  const agreed = await release(['--all-matching', '--yes', '-o', 'ndjson']);

  t.regex(refused.stderr, /to be allowed: news@example\.org in example\.com\n(to be allowed: .*\n){9}and 6 more like this\n/);
  t.regex(refused.stderr, /Release these 30 mails, and allow 16 senders from now on\? /);
  t.is(details.length, 16);
  t.deepEqual([agreed.code, added().length], [0, 16]);
});

test('a sender that neither SPF nor DKIM verifies is not allowed, and the other way is named', async t => {
  const verified = (result: 'pass' | 'fail'): HeldMailDetail['authentication'] => ({
    spf: {result, domain: 'example.org'},
    dkim: [],
    dmarc: {result: 'none', policy: null, domain: 'example.org'},
    arc: {result: 'none'},
  });
  const {release, added, acted} = await startScene(t, {
    mails: [
      {queue_id: 'aaaaaa', sender: 'forged@example.org', authentication: verified('fail')},
      {queue_id: 'bbbbbb', authentication: verified('pass')},
    ],
  });

  const {code, stderr} = await release(['mx1/aaaaaa', 'mx1/bbbbbb']);

  t.is(acted().length, 1);
  t.deepEqual(
    added().map(({body}) => JSON.parse(body).pattern),
    ['news@example.org'],
  );
  t.regex(stderr, /neither SPF nor DKIM verifies that it comes from forged@example\.org/);
  t.regex(stderr, /mfctl domain filters add example\.com --allow --sender forged@example\.org --no-authenticated/);
  t.is(code, 0, stderr);
});

test('what is allowed already is left as it is', async t => {
  const filters = [allowOf('news@example.org', {id: 77}), allowOf('other@example.org', {match: 'sender_domain'})];
  const {release, added} = await startScene(t, {mails: [{queue_id: 'aaaaaa'}], filters});

  const {code, stderr} = await release(['mx1/aaaaaa']);

  t.deepEqual([code, stderr, added().length], [0, 'already allowed: news@example.org in example.com (filter 77)\n', 0]);
});

test('a bounce, outbound mail, a sender that is no pattern and one that is blocked are released, and said not to be allowed', async t => {
  const {release, added} = await startScene(t, {
    mails: [
      {queue_id: 'aaaaaa', sender: ''},
      {queue_id: 'bbbbbb', direction: 'outbound', sender: 'me@example.com'},
      {queue_id: 'cccccc', sender: '*@*'},
      {queue_id: 'dddddd', sender: hostile},
      {queue_id: 'eeeeee', sender: 'bad@example.org'},
      {queue_id: 'ffffff', sender: `${'x'.repeat(250)}@example.org`},
      {queue_id: 'gggggg', domain: 'gone.example'},
    ],
    filters: [allowOf('bad@example.org', {id: 66, action: 'block'})],
  });
  const ids = [...'abcdefg'].map(letter => `mx1/${letter.repeat(6)}`);

  const {code, stdout, stderr} = await release([...ids, 'mx1/zzzzzz', '-o', 'name']);

  t.is(code, 0);
  t.deepEqual(stdout.trimEnd().split('\n'), [...ids, 'mx1/zzzzzz']);
  t.is(added().length, 0);
  for (const [id, why] of [
    ['mx1/aaaaaa', 'a bounce has no sender'],
    ['mx1/bbbbbb', 'it is outbound mail of example.com'],
    ['mx1/cccccc', 'its sender "\\*@\\*" must be one address'],
    ['mx1/dddddd', 'its sender .* must be a mail address'],
    [
      'mx1/eeeeee',
      'filter 66 of example.com blocks bad@example.org, and wins over one that allows it: mfctl domain filters remove example.com 66',
    ],
    ['mx1/ffffff', 'its sender .* is too long'],
    ['mx1/gggggg', 'there is no domain gone.example any more'],
    ['mx1/zzzzzz', 'it is not held'],
  ])
    t.regex(stderr, new RegExp(`^warning: no sender is allowed for ${id}: ${why}`, 'm'));
  t.notRegex(stderr, /[\x1b\x9b\u202e\u200b]/);
});

test('a key that may not add filters gets an error before anything is released', async t => {
  const {release, acted} = await startScene(t, {
    mails: [{queue_id: 'aaaaaa'}],
    permissions: ['quarantine:read', 'quarantine:act'],
  });

  for (const args of [['mx1/aaaaaa'], ['mx1/aaaaaa', '--dry-run'], ['--all-matching', '--yes']]) {
    const {code, stdout, stderr} = await release(args);
    t.deepEqual([code, stdout], [4, ''], args.join(' '));
    t.regex(
      stderr,
      /a quarantine-only key may not add filters: nothing was released \(insufficient_scope\)\nhint: .*domain-admin or full-admin/,
    );
  }

  t.is(acted().length, 0);
});

test('a dry run says which senders would be allowed, and changes nothing', async t => {
  const {release, acted, added} = await startScene(t, {
    mails: [{queue_id: 'aaaaaa'}, {queue_id: 'bbbbbb', sender: 'known@example.org'}],
    filters: [allowOf('known@example.org', {id: 77})],
  });
  const said =
    'to be allowed: news@example.org in example.com\nalready allowed: known@example.org in example.com (filter 77)\na dry run: ';

  const named = await release(['mx1/aaaaaa', 'mx1/bbbbbb', '--dry-run', '-o', 'name']);
  const matching = await release(['--all-matching', '--dry-run', '-o', 'name']);

  for (const {code, stdout, stderr} of [named, matching]) {
    t.deepEqual([code, stdout], [0, 'mx1/aaaaaa\nmx1/bbbbbb\n']);
    t.true(stderr.startsWith(said), stderr);
  }
  t.deepEqual([acted().length, added().length], [0, 0]);
});

test('a filter that is refused after the release exits 6, and the others are added', async t => {
  let posts = 0;
  const {release, added} = await startScene(t, {
    mails: [{queue_id: 'aaaaaa'}, {queue_id: 'bbbbbb', sender: 'other@example.org'}],
    post: () => {
      posts += 1;
      return posts === 1
        ? {status: 409, error: {code: 'conflict', detail: 'the domain has 1000 filters'}}
        : {status: 201, data: allowOf('other@example.org')};
    },
  });

  const many = await release(['mx1/aaaaaa', 'mx1/bbbbbb', '-o', 'name']);
  posts = 0;
  const one = await release(['mx1/aaaaaa', '-o', 'name']);

  t.is(many.code, 6);
  t.is(many.stdout, 'mx1/aaaaaa\nmx1/bbbbbb\n');
  t.is(
    many.stderr.split('\nhint')[0],
    'allowed: other@example.org in example.com (filter 5)\n' +
      'warning: not allowed: news@example.org in example.com: the domain has 1000 filters (conflict)\n' +
      'error: mail was released, but 1 of 2 senders could not be allowed (partial_failure)',
  );
  t.deepEqual([one.code, one.stdout], [6, 'mx1/aaaaaa\n']);
  t.is(added().length, 3);
});

test('once the node is busy no further sender is tried', async t => {
  const {release, added} = await startScene(t, {
    mails: [{queue_id: 'aaaaaa'}, {queue_id: 'bbbbbb', sender: 'other@example.org'}],
    post: () => ({status: 503, error: {code: 'unavailable', detail: 'busy'}}),
  });

  const {code, stderr} = await release(['mx1/aaaaaa', 'mx1/bbbbbb']);

  t.is(code, 6);
  t.is(added().length, 1);
  t.regex(stderr, /2 of 2 senders could not be allowed/);
});

test('discard knows no --allow-sender', async t => {
  const {mfctl, requests} = await startScene(t, {mails: []});

  t.is((await mfctl(['quarantine', 'discard', 'mx1/aaaaaa', '--allow-sender'])).code, 2);
  t.is(requests.length, 0);
});
