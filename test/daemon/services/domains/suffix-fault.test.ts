import test from 'ava';
import {suffixFault} from '../../../../daemon/services/domains/suffix-fault.ts';
import {loadPublicSuffixes} from '../../../../daemon/services/public-suffixes.ts';

const allow = {action: 'allow', match: 'sender_domain', score: null} as const;
const header = {...allow, match: 'header'} as const;

test('a filter that lets mail in is for no public suffix, with or without points', async t => {
  for (const pattern of ['co.uk', 'github.io', 'foo.ck', 'xn--55qx5d.cn']) {
    t.regex(
      (await suffixFault({...allow, pattern})) ?? '',
      /^lets in everybody who registers a domain below .*; name the domains/,
    );
    t.truthy(await suffixFault({...allow, action: 'score', score: -1, pattern}), pattern);
  }
  for (const pattern of ['example.co.uk', 'me.github.io', 'www.ck', 'bank.test', 'mail.internal'])
    t.is(await suffixFault({...allow, pattern}), undefined, pattern);
});

test('a pattern for a header field is no way around it', async t => {
  const covering = [
    '*.co.uk',
    '*@co.uk',
    '*@*.co.uk',
    '*.CO.UK>',
    '*@com*',
    '*.com>?',
    '*\\.co\\.uk',
    '*.公司.cn',
    'news*@co.uk',
  ];
  for (const pattern of covering) t.truthy(await suffixFault({...header, pattern}), pattern);
  for (const pattern of [
    '*@example.co.uk',
    '*.example.com',
    'news@co.uk',
    '*com*',
    '*',
    '*list-co.uk*',
    '<*.lists.example.org>',
    '*.',
  ])
    t.is(await suffixFault({...header, pattern}), undefined, pattern);
});

test('a filter that keeps mail out may be for a public suffix, and one for an address is for that address', async t => {
  t.is(await suffixFault({...allow, action: 'block', pattern: 'co.uk'}), undefined);
  t.is(await suffixFault({...allow, action: 'score', score: 2, pattern: 'co.uk'}), undefined);
  t.is(await suffixFault({...allow, match: 'sender', pattern: 'a@co.uk'}), undefined);
  t.is(await suffixFault({...allow, match: 'subject', pattern: '*.com'}), undefined);
});

test('an organisation is what somebody registered, and all names below a suffix of a company are one', async t => {
  const {organizationOf} = await loadPublicSuffixes();
  const names = ['mail.google.com', 'a.b.example.co.uk', 'one.github.io', 'two.github.io', 'co.uk', 'reader.test', '192.0.2.1'];

  t.deepEqual(names.map(organizationOf), [
    'google.com',
    'example.co.uk',
    'github.io',
    'github.io',
    'co.uk',
    'reader.test',
    '192.0.2.1',
  ]);
});
