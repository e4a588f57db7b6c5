import test from 'ava';
import {clientNetwork, plainAddress} from '../../shared/host-port.ts';

test('an IPv4 address is written as such where a dual-stack socket says it as IPv6, and an IPv6 address is left as it is', t => {
  for (const [said, plain] of [
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::1', '::1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
  ] as const)
    t.is(plainAddress(said), plain);
});

test('a client has an IPv4 address, or a network of 64 bits', t => {
  for (const [address, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:DB8:0:0:1:2:3:4', '2001:db8:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ] as const)
    t.is(clientNetwork(address), network);
});
