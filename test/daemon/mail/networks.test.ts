import test from 'ava';
import {createNetworkSet} from '../../../daemon/mail/networks.ts';
import {Fault} from '../../../shared/fault.ts';

test('an address is inside exactly the networks that cover it', t => {
  const networks = createNetworkSet(['127.0.0.0/8', '192.0.2.7', '::1/128', '2001:db8::/32']);

  for (const ip of ['127.0.0.1', '127.255.255.255', '192.0.2.7', '::1', '2001:db8:ffff::1', '2001:DB8::'])
    t.true(networks.contains(ip), ip);
  for (const ip of ['128.0.0.1', '192.0.2.8', '::2', '2001:db9::1']) t.false(networks.contains(ip), ip);
});

test('an IPv4 address written as IPv6 counts as IPv4, in any spelling', t => {
  const networks = createNetworkSet(['127.0.0.0/8']);

  for (const ip of ['::ffff:127.0.0.1', '::FFFF:7f00:1', '0:0:0:0:0:ffff:7f00:0001']) t.true(networks.contains(ip), ip);
  t.false(networks.contains('::ffff:10.0.0.1'));
  t.true(createNetworkSet(['::ffff:10.0.0.0/104']).contains('10.1.1.1'));
});

test('a zone does not hide a link-local address', t => {
  t.true(createNetworkSet(['fe80::/10']).contains('fe80::1%eth0'));
});

test('what is no address is in no network', t => {
  const everything = createNetworkSet(['0.0.0.0/0', '::/0']);

  for (const text of ['', 'localhost', '127.1', '0x7f000001', '127.0.0.1:25', '[::1]', '127.0.0.1\n'])
    t.false(everything.contains(text), text);
});

test('an empty set contains nothing', t => {
  t.false(createNetworkSet([]).contains('127.0.0.1'));
});

test('a bad entry is quoted', t => {
  for (const entry of [
    '',
    'localhost',
    '10.0.0.0/33',
    '::/129',
    '10.0.0/8',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0-10.0.0.9',
  ]) {
    const fault = t.throws(() => createNetworkSet(['10.0.0.0/8', entry]), {instanceOf: Fault}, entry);
    t.true(fault?.detail.startsWith(`"${entry}" is not a network`), entry);
  }
});
