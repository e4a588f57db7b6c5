// SPF: names and addresses of the client (RFC 7208 sections 5.5 to 5.7).
import {type SpfZone, testSpf} from '../../../helpers/spf-cases.ts';

const ip6 = '2001:db8::1';

const reverse = '1.2.0.192.in-addr.arpa';
const names = (...ptr: string[]): SpfZone => ({[reverse]: {PTR: ptr}});
const genuine: SpfZone = {'host.example.test': {A: ['192.0.2.1']}};

testSpf('5.5 ptr', [
  {
    says: 'a validated name below the domain matches',
    record: 'v=spf1 ptr -all',
    zone: {...names('host.example.test'), ...genuine},
    result: 'pass',
  },
  {
    says: 'a validated name that is the domain matches',
    record: 'x',
    zone: {...names('example.test'), 'example.test': {TXT: ['v=spf1 ptr -all'], A: ['192.0.2.1']}},
    result: 'pass',
  },
  {
    says: 'the case of the name does not count',
    record: 'v=spf1 ptr -all',
    zone: {...names('HOST.Example.Test'), ...genuine},
    result: 'pass',
  },
  {
    says: 'a name that does not resolve back does not match',
    record: 'v=spf1 ptr -all',
    zone: {...names('host.example.test'), 'host.example.test': {A: ['198.51.100.1']}},
    result: 'fail',
  },
  {
    says: 'a name that ends alike but is no subdomain does not match',
    record: 'v=spf1 ptr -all',
    zone: {...names('badexample.test'), 'badexample.test': {A: ['192.0.2.1']}},
    result: 'fail',
  },
  {
    says: 'the name of another domain does not match',
    record: 'v=spf1 ptr -all',
    zone: {...names('host.other.test'), 'host.other.test': {A: ['192.0.2.1']}},
    result: 'fail',
  },
  {
    says: 'a domain is looked for when it is given',
    record: 'v=spf1 ptr:other.test -all',
    zone: {...names('host.other.test'), 'host.other.test': {A: ['192.0.2.1']}},
    result: 'pass',
  },
  {
    says: 'any of several names matches',
    record: 'v=spf1 ptr -all',
    zone: {...names('a.other.test', 'host.example.test'), ...genuine},
    result: 'pass',
  },
  {
    says: 'an eleventh name is not looked at',
    record: 'v=spf1 ptr -all',
    zone: {...names(...Array.from({length: 10}, (_, n) => `n${n}.other.test`), 'host.example.test'), ...genuine},
    result: 'fail',
  },
  {says: 'a client without a name does not match', record: 'v=spf1 ptr ~all', result: 'softfail'},
  {says: 'no answer does not match, and is no error', record: 'v=spf1 ptr -all', zone: {[reverse]: 'silent'}, result: 'fail'},
  {
    says: 'no answer about one name leaves the others',
    record: 'v=spf1 ptr -all',
    zone: {...names('s.test', 'host.example.test'), 's.test': 'silent', ...genuine},
    result: 'pass',
  },
  {
    says: 'a client with IPv6 has a name',
    record: 'v=spf1 ptr -all',
    ip: ip6,
    zone: {[`1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`]: {PTR: ['host.example.test']}, 'host.example.test': {AAAA: [ip6]}},
    result: 'pass',
  },
  {
    says: 'a name below a domain with an underscore matches',
    record: 'x',
    sender: 'a@x_y.test',
    zone: {'x_y.test': {TXT: ['v=spf1 ptr -all']}, ...names('h.x_y.test'), 'h.x_y.test': {A: ['192.0.2.1']}},
    result: 'pass',
  },
]);

testSpf('5.6 ip4 and ip6', [
  {says: 'the address matches', record: 'v=spf1 ip4:192.0.2.1 -all', result: 'pass'},
  {says: 'another address does not match', record: 'v=spf1 ip4:192.0.2.2 -all', result: 'fail'},
  {says: 'a network matches', record: 'v=spf1 ip4:192.0.2.0/25 -all', result: 'pass'},
  {says: 'bits of the host do not count', record: 'v=spf1 ip4:192.0.2.99/24 -all', result: 'pass'},
  {says: 'a network next to it does not match', record: 'v=spf1 ip4:192.0.2.128/25 -all', result: 'fail'},
  {says: 'a length of zero matches all of IPv4', record: 'v=spf1 ip4:0.0.0.0/0 -all', result: 'pass'},
  {says: 'a length of zero does not match IPv6', record: 'v=spf1 ip4:0.0.0.0/0 -all', ip: ip6, result: 'fail'},
  {says: 'an address of IPv6 matches', record: 'v=spf1 ip6:2001:db8::1 -all', ip: ip6, result: 'pass'},
  {
    says: 'an address of IPv6 in another spelling matches',
    record: 'v=spf1 ip6:2001:0DB8:0:0:0:0:0:1 -all',
    ip: ip6,
    result: 'pass',
  },
  {says: 'a network of IPv6 matches', record: 'v=spf1 ip6:2001:db8::/32 -all', ip: ip6, result: 'pass'},
  {says: 'another network of IPv6 does not match', record: 'v=spf1 ip6:2001:db9::/32 -all', ip: ip6, result: 'fail'},
  {says: 'all of IPv6 does not match IPv4', record: 'v=spf1 ip6:::/0 -all', result: 'fail'},
  {says: 'IPv4 as IPv6 does not match ip6', record: 'v=spf1 ip6:::/0 -all', ip: '::ffff:192.0.2.1', result: 'fail'},
  {says: 'IPv4 as IPv6 matches ip4', record: 'v=spf1 ip4:192.0.2.1 -all', ip: '::ffff:c000:201', result: 'pass'},
  {
    says: 'ip6 may end in an address of IPv4',
    record: 'v=spf1 ip6:2001:db8::192.0.2.1 -all',
    ip: '2001:db8::c000:201',
    result: 'pass',
  },
]);

testSpf('5.7 exists', [
  {says: 'any address matches', record: 'v=spf1 exists:e.test -all', zone: {'e.test': {A: ['127.0.0.2']}}, result: 'pass'},
  {says: 'a name that does not exist does not match', record: 'v=spf1 exists:gone.test -all', result: 'fail'},
  {
    says: 'a name without an address does not match',
    record: 'v=spf1 exists:e.test -all',
    zone: {'e.test': {TXT: ['x']}},
    result: 'fail',
  },
  {
    says: 'A is asked for a client with IPv6 too',
    record: 'v=spf1 exists:e.test -all',
    zone: {'e.test': {A: ['127.0.0.2']}},
    ip: ip6,
    result: 'pass',
  },
  {says: 'AAAA does not count', record: 'v=spf1 exists:e.test -all', zone: {'e.test': {AAAA: [ip6]}}, ip: ip6, result: 'fail'},
  {says: 'no answer is no verdict', record: 'v=spf1 exists:e.test +all', zone: {'e.test': 'silent'}, result: 'temperror'},
]);
