import {readFile} from 'node:fs/promises';
import test from 'ava';
import {authenticationScores, scoreAuthentication} from '../../../../daemon/mail/scan/authentication-score.ts';
import type {MailAuthentication} from '../../../../shared/mail-authentication.ts';

const results = (spf: MailAuthentication['spf']['result'], dmarc: Partial<MailAuthentication['dmarc']>): MailAuthentication => ({
  spf: {result: spf, domain: 'example.net'},
  dkim: [],
  dmarc: {result: 'none', policy: null, domain: 'example.org', ...dmarc},
  arc: {result: 'none'},
});

test('what the author domain wants decides, and SPF alone where it says nothing', t => {
  const symbolsOf = (...parts: Parameters<typeof results>) => scoreAuthentication(results(...parts)).map(({name}) => name);

  t.deepEqual(symbolsOf('fail', {result: 'fail', policy: 'reject'}), ['DMARC_REJECT']);
  t.deepEqual(symbolsOf('pass', {result: 'fail', policy: 'quarantine'}), ['DMARC_QUARANTINE']);
  t.deepEqual(symbolsOf('fail', {result: 'fail', policy: 'none'}), []);
  t.deepEqual(symbolsOf('fail', {result: 'none'}), ['SPF_FAIL']);
  t.deepEqual(symbolsOf('softfail', {result: 'none'}), []);
  t.deepEqual(symbolsOf('fail', {result: 'pass', policy: 'reject'}), []);
  t.deepEqual(symbolsOf('temperror', {result: 'temperror', policy: 'reject'}), []);
});

test('the table of the documentation has every score', async t => {
  const page = await readFile(new URL('../../../../docs/authentication.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^ *\| `([A-Z_]+)` \| (\d+) \|/gm)].map(([, name = '', score]) => [name, Number(score)]);

  t.deepEqual(Object.fromEntries(rows), {...authenticationScores});
});
