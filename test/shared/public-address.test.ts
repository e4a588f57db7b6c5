import test from 'ava';
import {isPublicAddress} from '../../shared/public-address.ts';

test('addresses of the Internet are public, and those of machines, sites, tunnels and groups are not', t => {
  const outside = ['8.8.8.8', '100.128.0.1', '172.32.0.1', '2001:4860:4860::8888', '2606:4700::1', '::ffff:8.8.8.8'];
  const inside = [
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.255', '169.254.169.254', '172.31.255.255', '192.168.1.1'],
    ...['198.19.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...[
      '::',
      '::1',
      '::127.0.0.1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '0:0:0:0:0:FFFF:0a00:1',
      '64:ff9b::7f00:1',
      '64:ff9b:1::1',
    ],
    ...['fe80::1', 'fe80::1%eth0', 'fc00::1', 'fdff::1', 'fec0::1', 'ff02::1', '2002:7f00:1::1', '2001:0:1::1', '100::1'],
    ...['localhost', '', '1.2.3', '0x7f.1', 'example.com'],
  ];

  t.deepEqual(
    outside.filter(address => !isPublicAddress(address)),
    [],
  );
  t.deepEqual(inside.filter(isPublicAddress), []);
});
