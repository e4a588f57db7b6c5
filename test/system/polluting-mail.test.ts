// Mails whose fields name __proto__, and what the node says of the mails after them.
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {dkimRecord, generateDkimKey} from '../../daemon/services/domains/domain-parts.ts';
import {startDnsZone} from '../helpers/dns-zone.ts';
import {relayAll, startMailNode} from '../helpers/mail-node.ts';
import {reportMailOf} from '../helpers/received-report.ts';
import {testFolder} from '../helpers/store.ts';

const signature = 'a=rsa-sha256; c=relaxed/relaxed; d=stranger.test; s=s1; h=from; bh=AAAA; b=AAAA';

/** An ARC set in whose results a property is set, and a signature beside a parameter of MIME that sets one. */
const polluting = (name: string, value: string): string[] => [
  [
    `ARC-Authentication-Results: i=1; mx.test; spf=pass __proto__.${name}="${value}"`,
    `ARC-Message-Signature: i=1; ${signature}`,
    'ARC-Seal: i=1; a=rsa-sha256; cv=none; d=stranger.test; s=s1; b=AAAA',
  ].join('\r\n'),
  `Content-Type: multipart/mixed; __proto__*0*=utf-8''abc; __proto__*1*=${name}\r\nDKIM-Signature: v=1; ${signature}`,
];

test('mails that name __proto__ neither make forged mail pass, nor stop the node, nor run what they say', async t => {
  const folder = await testFolder(t);
  const pair = await generateDkimKey('ed25519');
  const {server} = await startDnsZone(t, {
    'bank.test': {TXT: ['v=spf1 ip4:192.0.2.1 -all']},
    '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject']},
    'receiver.test': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
    '_dmarc.receiver.test': {TXT: ['v=DMARC1; p=reject']},
  });
  const config = {
    authentication: {dns_servers: [server], dns_timeout: 5},
    smtp: {trusted_networks: []},
    dmarc: {receive_at: ['dmarc@example.com']},
  };
  const node = await startMailNode(t, {config, domain: {...relayAll, quarantine_threshold: 5}});
  const mark = join(folder, 'mark');
  const run = `--import=data:text/javascript,import{writeFileSync}from'node:fs';writeFileSync('${mark}','')`;
  const fields = [
    ['records.0', dkimRecord({algorithm: 'ed25519', ...pair})],
    ['get', '1'],
    ['x', '1'],
    ['hasOwnProperty', '1'],
    ['then', '1'],
    ['NODE_OPTIONS', encodeURI(run)],
  ].flatMap(([name = '', value = '']) => polluting(name, value));

  for (const field of fields)
    for (const size of [0, 300 * 1024]) {
      const mail = `${field}\r\nFrom: a@stranger.test\r\nSubject: x\r\n\r\n${'a line\r\n'.repeat(size / 8)}`;
      t.is((await node.send(mail, {from: 'a@stranger.test'})).code, 250);
    }
  const report = await node.send(reportMailOf({id: 'one'}).toString('latin1'), {
    from: 'noreply@receiver.test',
    to: 'dmarc@example.com',
  });
  const forged = await node.send('From: ceo@bank.test\r\nSubject: forged\r\n\r\nhello\r\n', {from: 'ceo@bank.test'});

  t.is(report.code, 250);
  t.is(forged.code, 250);
  t.deepEqual(
    (await node.held()).map(({subject, symbols}) => [subject, ...symbols]),
    [['forged', 'DMARC_REJECT']],
  );
  t.is(node.sink.mails.length, fields.length * 2);
  t.false(existsSync(mark));
});
