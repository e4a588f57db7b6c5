import test from 'ava';
import {Webhook} from 'standardwebhooks';
import {messageOf, signed} from '../../../../daemon/services/webhooks/signed-message.ts';
import {readEntry, writeEntry} from '../../../../daemon/store/sql/event-entry.ts';
import type {MailEvent} from '../../../../shared/mail-event.ts';
import {relayedEvent} from '../../../helpers/mail-event.ts';
import {secret} from '../../../helpers/webhook-receiver.ts';

const shown = (fields: Parameters<typeof relayedEvent>[1] = {}): MailEvent => {
  const event = relayedEvent(1, fields);
  return {...readEntry(writeEntry(event)), id: 'h1-node.one', at: event.at, node_id: 'node.one', key_name: null};
};

test('a message verifies with its secret, for this body and id alone', t => {
  const message = messageOf(shown({subject: 'Grüße “\ud800'}), 17);
  const {headers, body} = signed(message, {secret, now: Date.now(), version: '1.2.3'});
  const webhook = new Webhook(secret);

  t.like(webhook.verify(body, headers), {
    type: 'relayed',
    timestamp: relayedEvent(1).at,
    data: {number: 17, node_id: 'node.one'},
  });
  t.is(headers['webhook-id'], 'h1-node.one');
  t.is(headers['user-agent'], 'mfd/1.2.3');
  t.throws(() => webhook.verify(`${body} `, headers));
  t.throws(() => webhook.verify(body, {...headers, 'webhook-id': 'h2-node.one'}));
  t.throws(() => new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(body, headers));
});

test('a message has at most 20,000 bytes, whatever strangers wrote, and is whole where it fits', t => {
  const long = 'ü'.repeat(5000);
  const many = Array.from({length: 100}, (_, at) => `${at}@${'x'.repeat(200)}`);
  const authentication = {
    spf: {result: 'pass', domain: long},
    dkim: Array.from({length: 20}, () => ({result: 'pass', domain: long, selector: long})),
    dmarc: {result: 'pass', policy: 'none', domain: long},
    arc: {result: 'none'},
  } as NonNullable<MailEvent['authentication']>;
  const worst = shown({
    event: 'held',
    ...{sender: long, recipients: many, from: many, subject: '"'.repeat(5000), message_id: long, symbols: many, authentication},
    ...{reply: long, server: long, detail: long, client: {ip: long, name: long, helo: long, tls: true}},
  });
  const plain = shown({recipients: many.slice(0, 3)});

  t.true(JSON.stringify(worst).length > 20_000);
  t.true(Buffer.byteLength(messageOf(worst, 1).body) <= 20_000);
  t.is(JSON.parse(messageOf(worst, 1).body).data.recipient_count, 100);
  t.deepEqual(JSON.parse(messageOf(plain, 1).body).data, {...plain, number: 1});
});
