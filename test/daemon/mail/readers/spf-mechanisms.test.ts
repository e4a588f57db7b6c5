// SPF: what each mechanism matches (RFC 7208 sections 5.1 to 5.4).
import {type SpfZone, testSpf} from '../../../helpers/spf-cases.ts';

const ip6 = '2001:db8::1';

testSpf('5.1 all', [
  {says: 'terms behind all are not tried', record: 'v=spf1 ?all +ip4:192.0.2.1', result: 'neutral'},
  {says: 'all matches a client with IPv6', record: 'v=spf1 -all', ip: ip6, result: 'fail'},
]);

const included = (record: string | string[]): SpfZone => ({'i.test': {TXT: [record].flat()}});

testSpf('5.2 include', [
  {
    says: 'a pass of the included record matches',
    record: 'v=spf1 include:i.test -all',
    zone: included('v=spf1 ip4:192.0.2.1 -all'),
    result: 'pass',
  },
  {
    says: 'the qualifier of the include is the result',
    record: 'v=spf1 ~include:i.test -all',
    zone: included('v=spf1 +all'),
    result: 'softfail',
  },
  {
    says: 'a pass of the included record may mean fail',
    record: 'v=spf1 -include:i.test +all',
    zone: included('v=spf1 +all'),
    result: 'fail',
  },
  {
    says: 'a fail of the included record does not match',
    record: 'v=spf1 include:i.test ~all',
    zone: included('v=spf1 -all'),
    result: 'softfail',
  },
  {
    says: 'a softfail of the included record does not match',
    record: 'v=spf1 include:i.test -all',
    zone: included('v=spf1 ~all'),
    result: 'fail',
  },
  {
    says: 'a neutral of the included record does not match',
    record: 'v=spf1 include:i.test -all',
    zone: included('v=spf1 ?all'),
    result: 'fail',
  },
  {
    says: 'an included domain without a record is an error',
    record: 'v=spf1 include:i.test +all',
    zone: {'i.test': {TXT: ['x']}},
    result: 'permerror',
  },
  {says: 'an included domain that does not exist is an error', record: 'v=spf1 include:gone.test +all', result: 'permerror'},
  {
    says: 'two included records are an error',
    record: 'v=spf1 include:i.test +all',
    zone: included(['v=spf1 +all', 'v=spf1 +all']),
    result: 'permerror',
  },
  {
    says: 'a syntax error in the included record is an error',
    record: 'v=spf1 include:i.test +all',
    zone: included('v=spf1 +all bogus'),
    result: 'permerror',
  },
  {
    says: 'an included domain that does not answer makes no verdict',
    record: 'v=spf1 include:i.test +all',
    zone: {'i.test': 'silent'},
    result: 'temperror',
  },
  {
    says: 'what the included record includes does not answer',
    record: 'v=spf1 include:i.test +all',
    zone: {...included('v=spf1 include:j.test -all'), 'j.test': 'silent'},
    result: 'temperror',
  },
  {
    says: 'an include with its name in capitals is one',
    record: 'v=spf1 INCLUDE:i.test -all',
    zone: included('v=spf1 +all'),
    result: 'pass',
  },
  {
    says: 'the redirect of the included record is followed',
    record: 'v=spf1 include:i.test -all',
    zone: {...included('v=spf1 redirect=j.test'), 'j.test': {TXT: ['v=spf1 +all']}},
    result: 'pass',
  },
]);

testSpf('5.3 a', [
  {
    says: 'the address of the domain itself matches',
    record: 'v=spf1 a -all',
    zone: {'example.test': {TXT: ['v=spf1 a -all'], A: ['192.0.2.1']}},
    result: 'pass',
  },
  {
    says: 'any of several addresses matches',
    record: 'v=spf1 a:h.test -all',
    zone: {'h.test': {A: ['198.51.100.1', '192.0.2.1']}},
    result: 'pass',
  },
  {says: 'another address does not match', record: 'v=spf1 a:h.test -all', zone: {'h.test': {A: ['192.0.2.2']}}, result: 'fail'},
  {
    says: 'a length widens the address',
    record: 'v=spf1 a:h.test/24 -all',
    zone: {'h.test': {A: ['192.0.2.200']}},
    result: 'pass',
  },
  {
    says: 'a length without a domain widens the address of the domain',
    record: 'x',
    zone: {'example.test': {TXT: ['v=spf1 a/24 -all'], A: ['192.0.2.200']}},
    result: 'pass',
  },
  {
    says: 'a length of zero matches every address',
    record: 'v=spf1 a:h.test/0 -all',
    zone: {'h.test': {A: ['198.51.100.1']}},
    result: 'pass',
  },
  {says: 'a length of zero needs an address', record: 'v=spf1 a:h.test/0 -all', result: 'fail'},
  {
    says: 'the length of IPv6 is not that of IPv4',
    record: 'v=spf1 a:h.test//0 -all',
    zone: {'h.test': {A: ['198.51.100.1']}},
    result: 'fail',
  },
  {
    says: 'an IPv6 client matches AAAA',
    record: 'v=spf1 a:h.test -all',
    zone: {'h.test': {A: ['192.0.2.9'], AAAA: [ip6]}},
    ip: ip6,
    result: 'pass',
  },
  {
    says: 'an IPv6 client does not match A',
    record: 'v=spf1 a:h.test/0 -all',
    zone: {'h.test': {A: ['192.0.2.1'], AAAA: ['2001:db8::2']}},
    ip: ip6,
    result: 'fail',
  },
  {
    says: 'the second length is for IPv6',
    record: 'v=spf1 a:h.test/32//64 -all',
    zone: {'h.test': {AAAA: ['2001:db8::ffff']}},
    ip: ip6,
    result: 'pass',
  },
  {
    says: 'an address of IPv4 as IPv6 is one of IPv4',
    record: 'v=spf1 a:h.test -all',
    zone: {'h.test': {A: ['192.0.2.1']}},
    ip: '::ffff:192.0.2.1',
    result: 'pass',
  },
  {says: 'no answer is no verdict', record: 'v=spf1 a:h.test +all', zone: {'h.test': 'silent'}, result: 'temperror'},
  {says: 'a host that does not exist does not match', record: 'v=spf1 a:gone.test ~all', result: 'softfail'},
]);

const mx: SpfZone = {
  'mx.test': {MX: ['10 a.mx.test', '20 b.mx.test']},
  'a.mx.test': {A: ['198.51.100.1']},
  'b.mx.test': {A: ['192.0.2.1'], AAAA: [ip6]},
};

testSpf('5.4 mx', [
  {says: 'the address of any mail exchanger matches', record: 'v=spf1 mx:mx.test -all', zone: mx, result: 'pass'},
  {
    says: 'the exchangers of the domain itself match',
    record: 'x',
    zone: {...mx, 'example.test': {TXT: ['v=spf1 mx -all'], MX: ['10 b.mx.test']}},
    result: 'pass',
  },
  {says: 'an exchanger with IPv6 matches', record: 'v=spf1 mx:mx.test -all', zone: mx, ip: ip6, result: 'pass'},
  {says: 'a length widens the addresses', record: 'v=spf1 mx:mx.test/24 -all', zone: mx, ip: '192.0.2.77', result: 'pass'},
  {
    says: 'a client that is none of them does not match',
    record: 'v=spf1 mx:mx.test -all',
    zone: mx,
    ip: '192.0.2.77',
    result: 'fail',
  },
  {
    says: 'the host itself is no exchanger when there is no MX',
    record: 'v=spf1 mx:h.test -all',
    zone: {'h.test': {A: ['192.0.2.1']}},
    result: 'fail',
  },
  {
    says: 'an exchanger without an address does not match',
    record: 'v=spf1 mx:n.test -all',
    zone: {'n.test': {MX: ['10 gone.test']}},
    result: 'fail',
  },
  {says: 'the null exchanger does not match', record: 'v=spf1 mx:n.test -all', zone: {'n.test': {MX: ['0 .']}}, result: 'fail'},
  {
    says: 'exchangers without an address are not void',
    record: 'v=spf1 mx:n.test -all',
    zone: {'n.test': {MX: ['1 v1.test', '2 v2.test', '3 v3.test', '4 b.mx.test']}, ...mx},
    result: 'pass',
  },
  {says: 'no answer is no verdict', record: 'v=spf1 mx:mx.test +all', zone: {'mx.test': 'silent'}, result: 'temperror'},
  {
    says: 'no answer about an exchanger is no verdict',
    record: 'v=spf1 mx:n.test +all',
    zone: {'n.test': {MX: ['10 s.test']}, 's.test': 'silent'},
    result: 'temperror',
  },
]);
