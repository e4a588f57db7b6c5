import {readFile} from 'node:fs/promises';
import test from 'ava';
import {authenticationScores, isUndecided, scoreAuthentication} from '../../../../daemon/mail/scan/authentication-score.ts';
import type {Verified} from '../../../../daemon/services/intake/mail.ts';
import type {MailAuthentication} from '../../../../shared/mail-authentication.ts';

type Dmarc = Partial<MailAuthentication['dmarc']>;

const verified = (spf: MailAuthentication['spf']['result'], dmarc: Dmarc, authorship: Verified['authorship'] = 'clear') => ({
  authorship,
  results: {
    spf: {result: spf, domain: 'example.net'},
    dkim: [],
    dmarc: {result: 'none' as const, policy: null, domain: 'example.org', ...dmarc},
    arc: {result: 'none' as const},
  },
});

const symbolsOf = (...parts: Parameters<typeof verified>) => scoreAuthentication(verified(...parts)).map(({name}) => name);

test('what the author domain wants decides, and SPF alone where it says nothing', t => {
  t.deepEqual(symbolsOf('fail', {result: 'fail', policy: 'reject'}), ['DMARC_REJECT']);
  t.deepEqual(symbolsOf('pass', {result: 'fail', policy: 'quarantine'}), ['DMARC_QUARANTINE']);
  t.deepEqual(symbolsOf('fail', {result: 'fail', policy: 'none'}), []);
  t.deepEqual(symbolsOf('fail', {result: 'none'}), ['SPF_FAIL']);
  t.deepEqual(symbolsOf('softfail', {result: 'none'}), []);
  t.deepEqual(symbolsOf('fail', {result: 'pass', policy: 'reject'}), []);
  t.deepEqual(symbolsOf('temperror', {result: 'temperror', policy: 'reject'}), []);
  t.deepEqual(symbolsOf('pass', {result: 'fail', policy: 'reject'}, 'several'), ['DMARC_REJECT']);
});

test('where DNS gives no answer, a policy of quarantine counts as failed, and mail under one of reject has to come again', t => {
  const undecided = (...parts: Parameters<typeof verified>) => isUndecided(verified(...parts));

  t.deepEqual(symbolsOf('temperror', {result: 'temperror', policy: 'quarantine'}), ['DMARC_QUARANTINE']);
  t.true(undecided('temperror', {result: 'temperror', policy: 'reject'}));
  t.false(undecided('temperror', {result: 'temperror', policy: 'quarantine'}));
  t.false(undecided('temperror', {result: 'temperror', policy: null}));
  t.false(undecided('fail', {result: 'fail', policy: 'reject'}));
  t.false(undecided('fail', {result: 'temperror', policy: 'reject'}, 'unclear'));
});

test('an unclear author counts as much as the strictest policy, and is not added to it', t => {
  for (const policy of [null, 'none', 'quarantine', 'reject'] as const)
    t.deepEqual(scoreAuthentication(verified('fail', {result: 'fail', policy}, 'unclear')), [
      {name: 'AUTHOR_UNCLEAR', score: 10},
    ]);
});

test('the table of the documentation has every score', async t => {
  const page = await readFile(new URL('../../../../docs/authentication.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^ *\| `([A-Z_]+)` \| (\d+) \|/gm)].map(([, name = '', score]) => [name, Number(score)]);

  t.deepEqual(Object.fromEntries(rows), {...authenticationScores});
});
