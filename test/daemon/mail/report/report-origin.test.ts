import test from 'ava';
import {reportOriginOf} from '../../../../daemon/mail/report/report-origin.ts';
import {judgement} from '../../../helpers/gateway.ts';
import {receivedMail} from '../../../helpers/received-mail.ts';

const from = (ip: string) =>
  reportOriginOf(receivedMail({bytes: Buffer.from('From: a@receiver.test\r\n\r\nhello\r\n'), client: {ip}}), judgement('relay'));

test('a sender is named with the network of its client, as it may have all of its addresses', t => {
  t.deepEqual(from('192.0.2.5'), {domain: 'receiver.test', isVerified: false, network: '192.0.2.0/24'});
  t.is(from('2001:db8::1:0:0:1').network, '2001:db8:0:0::/64');
});
