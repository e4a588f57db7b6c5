// SPF: which record counts, and its syntax (RFC 7208 sections 2 to 4).
import {type SpfCase, type SpfZone, testSpf} from '../../../helpers/spf-cases.ts';

const helo = (record: string): SpfZone => ({'mail.example.test': {TXT: [record]}});

testSpf('2.4 identities', [
  {says: 'a bounce is checked by the greeting', record: 'v=spf1 -all', zone: helo('v=spf1 +all'), sender: '', result: 'pass'},
  {says: 'a bounce fails by the greeting', record: 'v=spf1 +all', zone: helo('v=spf1 -all'), sender: '', result: 'fail'},
  {says: 'the greeting does not count beside a sender', record: 'v=spf1 -all', zone: helo('v=spf1 +all'), result: 'fail'},
  {
    says: 'a bounce with an address literal as greeting has no domain',
    record: '',
    sender: '',
    helo: '[192.0.2.1]',
    result: 'none',
  },
  {says: 'a bounce with one label as greeting has no domain', record: '', sender: '', helo: 'localhost', result: 'none'},
  {says: 'a bounce without a greeting has no domain', record: '', sender: '', helo: '', result: 'none'},
  {
    says: 'a bounce has postmaster as its local part',
    record: '',
    sender: '',
    zone: {...helo('v=spf1 exists:%{l}.x.test -all'), 'postmaster.x.test': {A: ['127.0.0.2']}},
    result: 'pass',
  },
]);

testSpf('4.3 initial processing', [
  {says: 'a domain of one label has no policy', record: '', sender: 'a@localhost', result: 'none'},
  {says: 'an address literal has no policy', record: '', sender: 'a@[192.0.2.1]', result: 'none'},
  {says: 'a label of 64 characters has no policy', record: '', sender: `a@${'x'.repeat(64)}.test`, result: 'none'},
  {says: 'an empty label has no policy', record: '', sender: 'a@example..test', result: 'none'},
  {says: 'a domain that does not exist has no policy', record: '', sender: 'a@gone.test', result: 'none'},
  {says: 'the case of the domain does not count', record: 'v=spf1 +all', sender: 'a@EXAMPLE.Test', result: 'pass'},
  {says: 'a dot at the end of the domain does not count', record: 'v=spf1 +all', sender: 'a@example.test.', result: 'pass'},
  {
    says: 'a domain with an underscore has its policy',
    record: '',
    sender: 'a@foo_bar.test',
    zone: {'foo_bar.test': {TXT: ['v=spf1 ip4:192.0.2.1 -all']}},
    result: 'pass',
  },
  {
    says: 'a domain with an underscore fails',
    record: '',
    sender: 'a@_x.foo_bar.test',
    zone: {'_x.foo_bar.test': {TXT: ['v=spf1 -all']}},
    result: 'fail',
  },
  {
    says: 'a domain with an underscore fills macros',
    record: '',
    sender: 'a@x_y.test',
    zone: {'x_y.test': {TXT: ['v=spf1 exists:%{d}.ok.test -all']}, 'x_y.test.ok.test': {A: ['127.0.0.2']}},
    result: 'pass',
  },
  {
    says: 'a quoted local part with an @ leaves the domain',
    record: 'v=spf1 +all',
    sender: '"a@other.test"@example.test',
    result: 'pass',
  },
  {
    says: 'a domain in U-labels is asked for in A-labels',
    record: '',
    sender: 'a@bücher.test',
    zone: {'xn--bcher-kva.test': {TXT: ['v=spf1 +all']}},
    result: 'pass',
  },
  {
    says: 'the domain of macros is in A-labels',
    record: '',
    sender: 'a@bücher.test',
    zone: {'xn--bcher-kva.test': {TXT: ['v=spf1 exists:%{o}.ok.test -all']}, 'xn--bcher-kva.test.ok.test': {A: ['127.0.0.2']}},
    result: 'pass',
  },
]);

testSpf('4.4 record lookup', [
  {says: 'no answer is no verdict', record: '', zone: {'example.test': 'silent'}, result: 'temperror'},
  {says: 'a name without TXT records has no policy', record: '', zone: {'example.test': {A: ['192.0.2.1']}}, result: 'none'},
  {says: 'a record of type SPF is not looked for', record: [], zone: {'example.test': {MX: ['10 mx.test']}}, result: 'none'},
]);

testSpf('4.5 selecting records', [
  {says: 'other TXT records are passed over', record: ['google-site=x', 'v=spf1 +all', 'v=DMARC1'], result: 'pass'},
  {says: 'two records are one too many', record: ['v=spf1 +all', 'v=spf1 -all'], result: 'permerror'},
  {says: 'two equal records are one too many', record: ['v=spf1 +all', 'v=spf1 +all'], result: 'permerror'},
  {says: 'the version in capitals is the version', record: 'V=SPF1 +all', result: 'pass'},
  {says: 'the version alone is a record', record: 'v=spf1', result: 'neutral'},
  {says: 'a longer version is none', record: 'v=spf10 +all', result: 'none'},
  {says: 'a version with a point is none', record: 'v=spf1.0 +all', result: 'none'},
  {says: 'another version is none', record: 'v=spf2.0/mfrom +all', result: 'none'},
  {says: 'a blank before the version makes it none', record: ' v=spf1 +all', result: 'none'},
  {says: 'a tab behind the version makes it none', record: 'v=spf1\t+all', result: 'none'},
  {says: 'strings of a record are joined without a blank', record: [['v=spf1 ip4:192.0.', '2.1 -all']], result: 'pass'},
  {says: 'a version in two strings is one', record: [['v=sp', 'f1 +all']], result: 'pass'},
  {says: 'blanks at the end are allowed', record: 'v=spf1 +all   ', result: 'pass'},
  {says: 'several blanks between terms are allowed', record: 'v=spf1   ip4:192.0.2.1    -all', result: 'pass'},
  {says: 'text that is not ASCII is an error', record: 'v=spf1 a:bücher.test +all', result: 'permerror'},
  {says: 'a tab within a record is an error', record: 'v=spf1 ip4:192.0.2.1\t-all', result: 'permerror'},
]);

const syntaxErrors: Record<string, string> = {
  'an unknown mechanism': 'v=spf1 ip5:192.0.2.1 +all',
  'an unknown mechanism behind the one that matches': 'v=spf1 +all whatever',
  'a bare word': 'v=spf1 192.0.2.1 +all',
  'a mechanism of the future': 'v=spf1 moo:cow.test +all',
  'all with a value': 'v=spf1 all:example.test',
  'all with a length': 'v=spf1 all/8',
  'two qualifiers': 'v=spf1 +-all',
  'an unknown qualifier': 'v=spf1 *all',
  'a qualifier alone': 'v=spf1 + +all',
  'a qualifier of a modifier': 'v=spf1 +redirect=x.test',
  'an include without a domain': 'v=spf1 include +all',
  'an include with an empty domain': 'v=spf1 include: +all',
  'an include with a length': 'v=spf1 include:x.test/24 +all',
  'exists without a domain': 'v=spf1 exists +all',
  'exists with an empty domain': 'v=spf1 exists: +all',
  'exists with a length': 'v=spf1 exists:x.test/24 +all',
  'a with an empty domain': 'v=spf1 a: +all',
  'a with a domain of one label': 'v=spf1 a:localhost +all',
  'a with a number as top label': 'v=spf1 a:x.123 +all',
  'a with an address': 'v=spf1 a:192.0.2.1 +all',
  'a with a top label that ends in a hyphen': 'v=spf1 a:x.test- +all',
  'mx with an empty domain': 'v=spf1 mx: +all',
  'ptr with an empty domain': 'v=spf1 ptr: +all',
  'ptr with a length': 'v=spf1 ptr/0 +all',
  'a with a length that is too long': 'v=spf1 a/33 +all',
  'a with a length for IPv6 that is too long': 'v=spf1 a//129 +all',
  'a with a leading zero': 'v=spf1 a/08 +all',
  'a with no length behind the slash': 'v=spf1 a/ +all',
  'mx with the lengths the wrong way round': 'v=spf1 mx//64/24 +all',
  'ip4 without an address': 'v=spf1 ip4 +all',
  'ip4 with an empty address': 'v=spf1 ip4: +all',
  'ip4 with three octets': 'v=spf1 ip4:192.0.2 +all',
  'ip4 with an octet above 255': 'v=spf1 ip4:192.0.2.256 +all',
  'ip4 with a leading zero': 'v=spf1 ip4:192.0.02.1 +all',
  'ip4 with a length that is too long': 'v=spf1 ip4:192.0.2.0/33 +all',
  'ip4 with two slashes': 'v=spf1 ip4:192.0.2.0//24 +all',
  'ip4 with a port': 'v=spf1 ip4:192.0.2.1:25 +all',
  'ip4 with an address of IPv6': 'v=spf1 ip4:2001:db8::1 +all',
  'ip6 without an address': 'v=spf1 ip6 +all',
  'ip6 with an address of IPv4': 'v=spf1 ip6:192.0.2.1 +all',
  'ip6 with a length that is too long': 'v=spf1 ip6:2001:db8::/129 +all',
  'ip6 with two slashes': 'v=spf1 ip6:2001:db8::1//33 +all',
  'ip6 with ten groups': 'v=spf1 ip6:1:2:3:4:5:6:7:8:9:0 +all',
  'redirect without a domain': 'v=spf1 +all redirect=',
  'redirect twice': 'v=spf1 +all redirect=x.test redirect=y.test',
  'redirect with a length': 'v=spf1 +all redirect=x.test/24',
  'exp without a domain': 'v=spf1 +all exp=',
  'exp twice': 'v=spf1 +all exp=x.test exp=x.test',
  'a modifier without a name': 'v=spf1 +all =x.test',
  'a modifier whose name begins with a digit': 'v=spf1 +all 2x=y',
  'an unknown modifier with a bad macro': 'v=spf1 +all moo=%{x}',
  'a percent sign alone': 'v=spf1 exists:%.x.test +all',
  'an open macro': 'v=spf1 exists:%{d.x.test +all',
  'an unknown macro': 'v=spf1 exists:%{q}.x.test +all',
  'a macro of explanations': 'v=spf1 exists:%{r}.x.test +all',
  'a macro with zero parts': 'v=spf1 exists:%{d0}.x.test +all',
  'a macro with an unknown delimiter': 'v=spf1 exists:%{d!}.x.test +all',
  'a macro with things in a wrong order': 'v=spf1 exists:%{dr2}.x.test +all',
};

testSpf(
  '4.6 syntax',
  Object.entries(syntaxErrors).map(([what, record]): SpfCase => ({says: `${what} is an error`, record, result: 'permerror'})),
);

testSpf('4.6 syntax that is right', [
  {says: 'mechanisms in capitals are the same', record: 'v=spf1 IP4:192.0.2.1 -ALL', result: 'pass'},
  {says: 'an unknown modifier is passed over', record: 'v=spf1 moo=cow:/%{d} +all', result: 'pass'},
  {says: 'an unknown modifier may be empty', record: 'v=spf1 moo= -all', result: 'fail'},
  {says: 'an unknown modifier may occur twice', record: 'v=spf1 moo=1 moo=2 ~all', result: 'softfail'},
  {says: 'an unknown modifier may have macros of explanations', record: 'v=spf1 moo=%{t} +all', result: 'pass'},
  {says: 'names of modifiers may have points, hyphens and underscores', record: 'v=spf1 a.b-c_d=1 ?all', result: 'neutral'},
  {says: 'a domain may end in a point', record: 'v=spf1 a:x.test. -all', zone: {'x.test': {A: ['192.0.2.1']}}, result: 'pass'},
  {
    says: 'a domain may have an underscore',
    record: 'v=spf1 a:_x.test -all',
    zone: {'_x.test': {A: ['192.0.2.1']}},
    result: 'pass',
  },
  {says: 'a top label may have a hyphen', record: 'v=spf1 a:x.a-b -all', zone: {'x.a-b': {A: ['192.0.2.1']}}, result: 'pass'},
  {
    says: 'a top label may be an A-label',
    record: 'v=spf1 a:x.xn--p1ai -all',
    zone: {'x.xn--p1ai': {A: ['192.0.2.1']}},
    result: 'pass',
  },
]);

testSpf('4.6.2 results of mechanisms', [
  {says: 'terms are tried from left to right', record: 'v=spf1 -ip4:192.0.2.1 +all', result: 'fail'},
  {
    says: 'a term that matches ends the evaluation',
    record: 'v=spf1 +all include:silent.test',
    zone: {'silent.test': 'silent'},
    result: 'pass',
  },
  {says: 'a question mark is neutral', record: 'v=spf1 ?all', result: 'neutral'},
  {says: 'a tilde is soft', record: 'v=spf1 ~all', result: 'softfail'},
  {says: 'a term without a qualifier passes', record: 'v=spf1 all', result: 'pass'},
]);

testSpf('4.7 default result', [
  {says: 'no term that matches is neutral', record: 'v=spf1 ip4:198.51.100.1', result: 'neutral'},
  {says: 'a modifier alone is neutral', record: 'v=spf1 exp=x.test', result: 'neutral'},
]);
