// SPF: modifiers and macros (RFC 7208 sections 6 and 7).
import test from 'ava';
import {type SpfCase, type SpfZone, spfResult, testSpf} from '../../../helpers/spf-cases.ts';

const target = (record: string): SpfZone => ({'r.test': {TXT: [record]}});

testSpf('6.1 redirect', [
  {says: 'the other record decides', record: 'v=spf1 redirect=r.test', zone: target('v=spf1 ip4:192.0.2.1 -all'), result: 'pass'},
  {says: 'the other record may fail', record: 'v=spf1 redirect=r.test', zone: target('v=spf1 -all'), result: 'fail'},
  {says: 'the other record may say nothing', record: 'v=spf1 redirect=r.test', zone: target('v=spf1'), result: 'neutral'},
  {
    says: 'a name in capitals is the same modifier',
    record: 'v=spf1 REDIRECT=r.test',
    zone: target('v=spf1 ~all'),
    result: 'softfail',
  },
  {
    says: 'a name in mixed case is the same modifier',
    record: 'v=spf1 ReDirect=r.test',
    zone: target('v=spf1 +all'),
    result: 'pass',
  },
  {
    says: 'mechanisms go first, wherever it stands',
    record: 'v=spf1 redirect=r.test ip4:192.0.2.1',
    zone: target('v=spf1 -all'),
    result: 'pass',
  },
  {
    says: 'it is not followed where there is all',
    record: 'v=spf1 redirect=r.test ?all',
    zone: target('v=spf1 +all'),
    result: 'neutral',
  },
  {
    says: 'it is not followed where there is all in capitals',
    record: 'v=spf1 -ALL redirect=r.test',
    zone: target('v=spf1 +all'),
    result: 'fail',
  },
  {says: 'a domain without a record is an error', record: 'v=spf1 redirect=gone.test', result: 'permerror'},
  {says: 'a target of one label is an error', record: 'v=spf1 redirect=localhost', result: 'permerror'},
  {says: 'a target with an empty label is an error', record: 'v=spf1 redirect=%{d}..test', result: 'permerror'},
  {
    says: 'a record with an error is an error',
    record: 'v=spf1 redirect=r.test',
    zone: target('v=spf1 +all +'),
    result: 'permerror',
  },
  {says: 'no answer is no verdict', record: 'v=spf1 redirect=r.test', zone: {'r.test': 'silent'}, result: 'temperror'},
  {
    says: 'a target of macros is expanded',
    record: 'v=spf1 redirect=_spf.%{d}',
    zone: {'_spf.example.test': {TXT: ['v=spf1 +all']}},
    result: 'pass',
  },
  {
    says: 'it may lead on',
    record: 'v=spf1 redirect=r.test',
    zone: {...target('v=spf1 redirect=s.test'), 's.test': {TXT: ['v=spf1 +all']}},
    result: 'pass',
  },
  {says: 'twice is an error', record: 'v=spf1 redirect=r.test Redirect=r.test', zone: target('v=spf1 +all'), result: 'permerror'},
]);

testSpf('6.2 exp', [
  {
    says: 'an explanation changes no result',
    record: 'v=spf1 exp=e.test -all',
    zone: {'e.test': {TXT: ['%{i} may not']}},
    result: 'fail',
  },
  {says: 'an explanation that does not exist changes no result', record: 'v=spf1 exp=gone.test -all', result: 'fail'},
  {
    says: 'an explanation without an answer changes no result',
    record: 'v=spf1 exp=e.test -all',
    zone: {'e.test': 'silent'},
    result: 'fail',
  },
  {
    says: 'an explanation with an error changes no result',
    record: 'v=spf1 exp=e.test -all',
    zone: {'e.test': {TXT: ['%{x}']}},
    result: 'fail',
  },
  {says: 'it may stand before mechanisms', record: 'v=spf1 exp=e.test ip4:192.0.2.1 -all', result: 'pass'},
]);

const expands = (says: string, spec: string, name: string, more: Partial<SpfCase> = {}): SpfCase => ({
  says,
  record: `v=spf1 exists:${spec} -all`,
  zone: {[name]: {A: ['127.0.0.2']}},
  result: 'pass',
  ...more,
});

const ip = '192.0.2.3';
const sender = 'strong-bad@email.example.test';
const published: SpfZone = {'email.example.test': {TXT: []}};
/** The record is that of the sender's domain. */
const ofEmail = (says: string, spec: string, name: string, more: Partial<SpfCase> = {}): SpfCase => ({
  ...expands(says, spec, name, {ip, sender, ...more}),
  zone: {...published, 'email.example.test': {TXT: [`v=spf1 exists:${spec} -all`]}, [name]: {A: ['127.0.0.2']}},
});

testSpf('7.2 and 7.4 macros', [
  ofEmail('s is the sender', '%{s}.x.test', 'strong-bad@email.example.test.x.test'),
  ofEmail('o is the domain of the sender', '%{o}.x.test', 'email.example.test.x.test'),
  ofEmail('d is the domain', '%{d}.x.test', 'email.example.test.x.test'),
  ofEmail('digits take labels from the right', '%{d2}.x.test', 'example.test.x.test'),
  ofEmail('more digits than labels take all', '%{d99}.x.test', 'email.example.test.x.test'),
  ofEmail('one digit takes the last label', '%{d1}.x.test', 'test.x.test'),
  ofEmail('r reverses the labels', '%{dr}.x.test', 'test.example.email.x.test'),
  ofEmail('labels are taken after they are reversed', '%{d2r}.x.test', 'example.email.x.test'),
  ofEmail('R is the same as r', '%{d2R}.x.test', 'example.email.x.test'),
  ofEmail('l is the local part', '%{l}.x.test', 'strong-bad.x.test'),
  ofEmail('a delimiter splits', '%{l-}.x.test', 'strong.bad.x.test'),
  ofEmail('what a delimiter splits may be reversed', '%{lr-}.x.test', 'bad.strong.x.test'),
  ofEmail('what a delimiter splits may be cut', '%{l1r-}.x.test', 'strong.x.test'),
  ofEmail('several delimiters split', '%{s+-}x.test', 'strong.bad@email.example.testx.test'),
  ofEmail('i is the address', '%{i}.x.test', '192.0.2.3.x.test'),
  ofEmail('i may be reversed', '%{ir}.%{v}._spf.%{d2}', '3.2.0.192.in-addr._spf.example.test'),
  ofEmail('h is the greeting', '%{h}.x.test', 'mail.example.test.x.test'),
  ofEmail('i of IPv6 is its nibbles', '%{ir}.%{v}.x.test', `1.0.b.c.${'0.'.repeat(20)}8.b.d.0.1.0.0.2.ip6.x.test`, {
    ip: '2001:db8::cb01',
  }),
  ofEmail('capitals escape', '%{L}.x.test', 'strong%2Fbad.x.test', {sender: 'strong/bad@email.example.test'}),
  ofEmail('the percent sign is itself', '%%x.%{d}', '%x.email.example.test'),
  ofEmail('%- is an escaped blank', 'a%-b.x.test', 'a%20b.x.test'),
  ofEmail('%_ is a blank', 'a%_b.x.test', 'a b.x.test'),
  ofEmail('p is unknown without a name', '%{p}.x.test', 'unknown.x.test'),
  ofEmail('a point at the end is taken off', '%{d}.x.test.', 'email.example.test.x.test'),
]);

testSpf('7.3 details', [
  expands('p is the validated name', '%{p}.x.test', 'host.example.test.x.test', {
    zone: {
      '1.2.0.192.in-addr.arpa': {PTR: ['host.example.test']},
      'host.example.test': {A: ['192.0.2.1']},
      'host.example.test.x.test': {A: ['127.0.0.2']},
    },
  }),
  expands('a name that is not validated is unknown', '%{p}.x.test', 'unknown.x.test', {
    zone: {
      '1.2.0.192.in-addr.arpa': {PTR: ['host.example.test']},
      'host.example.test': {A: ['192.0.2.9']},
      'unknown.x.test': {A: ['127.0.0.2']},
    },
  }),
  expands(
    'a name above 253 characters loses labels on the left',
    `${'%{l}.'.repeat(6)}x.test`,
    `${`${'y'.repeat(50)}.`.repeat(4)}x.test`,
    {sender: `${'y'.repeat(50)}@example.test`},
  ),
  expands('a local part that makes a label above 63 characters does not match', '%{l}.x.test', 'none.x.test', {
    sender: `${'y'.repeat(64)}@example.test`,
    result: 'fail',
  }),
  expands('a local part with a leading point does not match', '%{l}.x.test', 'none.x.test', {
    sender: '.a@example.test',
    result: 'fail',
  }),
  expands('a local part that is not ASCII does not match', '%{l}.x.test', 'ü.x.test', {sender: 'ü@example.test', result: 'fail'}),
  expands('the case of a name does not count', '%{l}.x.test', 'ANN.X.test', {sender: 'Ann@example.test'}),
]);

/** The form that Proofpoint publishes: each customer's record is one of the provider, found by the customer's domain. */
const provider = (terms: string): SpfZone => ({
  'provider.test': {TXT: [terms]},
  '192.0.2.1.spf.provider.test': {A: ['127.0.0.2']},
  '192.0.2.1.spf.example.test': {A: ['127.0.0.2']},
});

testSpf('7.2 the domain of an included or redirected record', [
  {
    says: 'd in an include is the included domain',
    record: 'v=spf1 include:provider.test -all',
    zone: {'provider.test': {TXT: ['v=spf1 exists:%{d}.x.test -all']}, 'provider.test.x.test': {A: ['127.0.0.2']}},
    result: 'pass',
  },
  {
    says: 'd in an include is not the domain of the sender',
    record: 'v=spf1 include:provider.test -all',
    zone: {'provider.test': {TXT: ['v=spf1 exists:%{d}.x.test -all']}, 'example.test.x.test': {A: ['127.0.0.2']}},
    result: 'fail',
  },
  {
    says: 'd after a redirect is the domain that it leads to',
    record: 'v=spf1 redirect=provider.test',
    zone: {'provider.test': {TXT: ['v=spf1 exists:%{d}.x.test -all']}, 'provider.test.x.test': {A: ['127.0.0.2']}},
    result: 'pass',
  },
  {
    says: 'd after a redirect is not the domain of the sender',
    record: 'v=spf1 redirect=provider.test',
    zone: {'provider.test': {TXT: ['v=spf1 exists:%{d}.x.test -all']}, 'example.test.x.test': {A: ['127.0.0.2']}},
    result: 'fail',
  },
  {
    says: 'o stays the domain of the sender',
    record: 'v=spf1 include:provider.test -all',
    zone: {'provider.test': {TXT: ['v=spf1 exists:%{o}.x.test -all']}, 'example.test.x.test': {A: ['127.0.0.2']}},
    result: 'pass',
  },
  {
    says: 'a provider finds the client below its own domain',
    record: 'v=spf1 include:provider.test -all',
    zone: provider('v=spf1 exists:%{i}.spf.%{d} -all'),
    result: 'pass',
  },
  {
    says: 'a wildcard of the sender opens nothing in a record of the provider',
    record: 'v=spf1 include:provider.test -all',
    zone: {...provider('v=spf1 exists:%{i}.spf.%{d} -all')},
    ip: '192.0.2.2',
    result: 'fail',
  },
  {
    says: 'an include may be made of the client and of the domain',
    record: 'v=spf1 include:%{ir}.%{v}.%{d}.spf.provider.test ~all',
    zone: {'1.2.0.192.in-addr.example.test.spf.provider.test': {TXT: ['v=spf1 ip4:192.0.2.1 -all']}},
    result: 'pass',
  },
  {
    says: 'a without a domain is the included domain',
    record: 'v=spf1 include:provider.test -all',
    zone: {'provider.test': {TXT: ['v=spf1 a -all'], A: ['192.0.2.1']}},
    result: 'pass',
  },
  {
    says: 'mx without a domain is the domain that a redirect leads to',
    record: 'v=spf1 redirect=provider.test',
    zone: {'provider.test': {TXT: ['v=spf1 mx -all'], MX: ['10 h.test']}, 'h.test': {A: ['192.0.2.1']}},
    result: 'pass',
  },
]);

test('a domain with a wildcard does not let everybody through the record of its provider', async t => {
  // Everything below example.test has an address.
  const names = ['198.51.100.9.spf.example.test'];
  const zone = {'provider.test': {TXT: ['v=spf1 exists:%{i}.spf.%{d} -all']}, [names[0] ?? '']: {A: ['192.0.2.80']}};

  t.is(await spfResult({record: 'v=spf1 include:provider.test -all', zone, ip: '198.51.100.9'}), 'fail');
});
