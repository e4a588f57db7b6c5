// The one line on stdout that starters of mfd wait for, whatever mail comes.
import test from 'ava';
import {dkimRecord, generateDkimKey} from '../../daemon/services/domains/domain-parts.ts';
import {startDnsZone} from '../helpers/dns-zone.ts';
import {holdAll, startMailNode} from '../helpers/mail-node.ts';

test('stdout has the ready line and nothing else, whatever the signatures of a mail contain', async t => {
  const pair = await generateDkimKey('ed25519');
  const {server, questions} = await startDnsZone(t, {
    's1._domainkey.good.test': {TXT: [dkimRecord({algorithm: 'ed25519', ...pair})]},
  });
  const config = {authentication: {verify: true, dns_servers: [server], dns_timeout: 1}, smtp: {trusted_networks: []}};
  const node = await startMailNode(t, {config, domain: holdAll});
  const signature = (more: string) =>
    `a=ed25519-sha256; c=relaxed/relaxed; d=good.test; s=s1; h=from:subject; bh=${'A'.repeat(43)}=; b=${'A'.repeat(86)}==${more}`;
  const arc = (l: string) => [
    'ARC-Seal: i=1; a=ed25519-sha256; cv=none; d=good.test; s=s1; b=AAAA',
    `ARC-Message-Signature: i=1; ${signature(l)}`,
    'ARC-Authentication-Results: i=1; mx.good.test; spf=pass smtp.mailfrom=x@good.test',
  ];
  const mails = [
    [`DKIM-Signature: v=1; ${signature('')}`],
    arc(''),
    arc('; l=5'),
    arc('; l=99999999999999999999'),
    arc('; l=-1; l=x'),
    [`DKIM-Signature: v=1; ${signature('; l=5; x=1; t=99999999999; z=From:x')}`],
    [`DKIM-Signature: v=2; ${signature('; l=')}`, 'Content-Type: multipart/mixed; boundary="b'],
    ['ARC-Authentication-Results: i=1; x; spf=pass __proto__.k=v', 'ARC-Seal: i=99', 'ARC-Message-Signature:'],
  ];

  for (const fields of mails) {
    const mail = [...fields, 'From: news@good.test', 'Subject: hello', '', 'hello, this is longer than it says', ''].join('\r\n');
    t.is((await node.send(mail, {from: 'x@good.test'})).code, 250);
  }

  t.is((await node.held()).length, mails.length);
  t.true(questions.includes('TXT s1._domainkey.good.test'));
  t.is(await node.stop(), 0);
  t.regex(node.stdout(), /^mfd ready [^\n]*\n$/);
});
