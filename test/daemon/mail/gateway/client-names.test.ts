import test from 'ava';
import {createClientNames} from '../../../../daemon/mail/gateway/clients.ts';
import type {Owner} from '../../../helpers/daemon.ts';
import {startDnsZone, type Zone} from '../../../helpers/dns-zone.ts';

const open = async (t: Owner, zone?: Zone) => {
  const {server, questions} = await startDnsZone(t, zone);
  return {...createClientNames({servers: [server]}), questions};
};

const ipv6Reverse = `5${'.0'.repeat(23)}.8.b.d.0.1.0.0.2.ip6.arpa`;

test('a name that leads back to the address counts', async t => {
  const {find} = await open(t, {
    '5.2.0.192.in-addr.arpa': {PTR: ['MX.Example.NET']},
    'mx.example.net': {A: ['192.0.2.4', '192.0.2.5']},
    [ipv6Reverse]: {PTR: ['six.example.net']},
    'six.example.net': {AAAA: ['2001:db8::4', '2001:db8::5']},
  });

  t.is(await find('192.0.2.5'), 'mx.example.net');
  t.is(await find('::ffff:192.0.2.5'), 'mx.example.net');
  t.is(await find('2001:DB8:0:0::5'), 'six.example.net');
});

test('a name that leads elsewhere, nowhere, or is none, does not count', async t => {
  const {find} = await open(t, {
    '5.2.0.192.in-addr.arpa': {PTR: ['mail-ed1-f41.google.com']},
    'mail-ed1-f41.google.com': {A: ['209.85.208.41'], AAAA: ['::ffff:192.0.2.5']},
    '6.2.0.192.in-addr.arpa': {PTR: ['nowhere.example.net']},
    '7.2.0.192.in-addr.arpa': {PTR: ['a b.example.net', 'a\r\nb.example.net']},
    'a b.example.net': {A: ['192.0.2.7']},
    'a\r\nb.example.net': {A: ['192.0.2.7']},
    [ipv6Reverse]: {PTR: ['four.example.net']},
    'four.example.net': {A: ['192.0.2.5']},
  });

  for (const ip of ['192.0.2.5', '192.0.2.6', '192.0.2.7', '192.0.2.8', '2001:db8::5', 'fe80::1%lo', 'nonsense'])
    t.is(await find(ip), undefined, ip);
});

test('of several names the first that leads back counts, and no more than ten are looked up', async t => {
  const names = Array.from({length: 12}, (_, n) => `n${n}.test`);
  const addresses = Object.fromEntries(names.map(name => [name, {A: ['192.0.2.9']}]));
  const {find, questions} = await open(t, {
    ...addresses,
    '5.2.0.192.in-addr.arpa': {PTR: names},
    'n7.test': {A: ['192.0.2.5']},
    'n8.test': {A: ['192.0.2.5']},
    '6.2.0.192.in-addr.arpa': {PTR: names},
    'n11.test': {A: ['192.0.2.6']},
  });

  t.is(await find('192.0.2.5'), 'n7.test');
  t.is(await find('192.0.2.6'), undefined);
  t.is(questions.filter(question => question.startsWith('A ')).length, 20);
});

test('nobody is asked about this machine', async t => {
  const {find, questions} = await open(t);

  for (const ip of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) t.is(await find(ip), 'localhost', ip);
  t.deepEqual(questions, []);
});

test('a name server that says nothing is given up', async t => {
  const {find, questions} = await open(t);

  t.is(await find('192.0.2.5'), undefined);
  t.true(questions.length > 0);
});
