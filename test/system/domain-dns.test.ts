// DNS records of a domain, from a real node with a name server of the test.
import test, {type ExecutionContext} from 'ava';
import {startDnsZone, type Zone} from '../helpers/dns-zone.ts';
import {relayAll, startMailNode} from '../helpers/mail-node.ts';
import {reportMailOf} from '../helpers/received-report.ts';

const start = async (t: ExecutionContext, zone: Zone, isMute = () => false) => {
  const {server} = await startDnsZone(t, zone, isMute);
  return startMailNode(t, {
    domain: {...relayAll, dkim_active: true},
    config: {
      fqdn: 'mx1.example.net',
      authentication: {dns_servers: [server], dns_timeout: 5},
      smtp: {trusted_networks: []},
      dmarc: {receive_at: ['dmarc@example.com']},
    },
  });
};

test('records are printed, published, and found to be right; then the reports say which policy may follow', async t => {
  const zone: Zone = {
    'receiver.test': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
    'mx1.example.net': {A: ['192.0.2.1']},
    '_dmarc.receiver.test': {TXT: ['v=DMARC1; p=reject']},
  };
  for (const name of ['second.test', 'third.test']) {
    zone[name] = {TXT: ['v=spf1 ip4:127.0.0.1 -all']};
    zone[`_dmarc.${name}`] = {TXT: ['v=DMARC1; p=reject']};
  }
  const node = await start(t, zone);
  const made = await node.api('POST', `domains/${node.domainId}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});

  const printed = await node.mfctl(['domain', 'dns', 'example.com']);
  const before = await node.mfctl(['domain', 'dns', 'example.com', '--check']);
  zone['example.com'] = {MX: ['10 mx1.example.net'], TXT: ['v=spf1 mx -all']};
  zone['_dmarc.example.com'] = {TXT: ['v=DMARC1; p=none; rua=mailto:dmarc@example.com']};
  zone[made.json.data.dns_name] = {TXT: [made.json.data.dns_record]};
  const rows = [{ip: '192.0.2.1', count: 970}, {ip: '203.0.113.9', count: 30, spf: 'fail', dkim: 'fail'} as const];
  const report = async (from: string, mail: Buffer) =>
    (await node.send(mail.toString('latin1'), {from, to: 'dmarc@example.com'})).code;
  const taken = await report('noreply@receiver.test', reportMailOf({rows}));
  const alone = await node.mfctl(['domain', 'dns', 'example.com', '--check']);
  for (const name of ['second.test', 'third.test'])
    await report(`noreply@${name}`, reportMailOf({rows}, {from: `noreply@${name}`}));
  const forged = reportMailOf(
    {id: 'f', rows: [{ip: '198.51.100.1', count: 9000, spf: 'fail', dkim: 'fail'}]},
    {from: 'x@unknown.test'},
  );
  await report('x@unknown.test', forged);
  const after = await node.mfctl(['domain', 'dns', 'example.com', '--check']);

  t.is(printed.code, 0);
  t.true(printed.stdout.includes('example.com. IN MX 10 mx1.example.net.\nexample.com. IN TXT "v=spf1 mx -all"\n'));
  t.true(printed.stdout.includes(`${made.json.data.dns_name}. IN TXT "${made.json.data.dns_record}"`));
  t.is(before.code, 1);
  for (const kind of ['mx', 'spf', 'dkim', 'dmarc']) t.regex(before.stdout, new RegExp(`^${kind} .* missing`, 'm'));
  t.regex(before.stderr, /^wanted: _dmarc\.example\.com\. IN TXT "v=DMARC1; p=none; rua=mailto:dmarc@example\.com"$/m);
  t.is(taken, 250);
  t.regex(alone.stderr, /^1 organisation reports .*; stay with p=none: 3 independent ones are needed$/m);
  t.is(after.code, 0, after.stdout);
  for (const kind of ['mx', 'spf', 'dkim', 'dmarc']) t.regex(after.stdout, new RegExp(`^${kind} .* right`, 'm'));
  t.regex(
    after.stderr,
    /97 % of your mail passes DMARC \(3000 mails since \S+\); move from p=none to p=quarantine; these sources would suffer: 203\.0\.113\.9 \(90 mails\)/,
  );
});

test('a key for another domain sees nothing of it, and a node whose name servers do not answer says that it does not know', async t => {
  let isMute = false;
  const node = await start(t, {}, () => isMute);
  const {id} = await node.createDomain({name: 'other.test', backend_servers: ['192.0.2.1:25']});
  const {key} = await node.createKey('domain-admin', {domain: 'other.test'});

  const gone = await node.api('GET', `domains/${node.domainId}/dns?check=true`, {key});
  const own = await node.api('GET', `domains/${id}/dns`, {key});
  isMute = true;
  const mute = await node.api('GET', `domains/${id}/dns?check=true`);

  t.is(gone.status, 404);
  t.is(own.json.data.domain, 'other.test');
  t.true(mute.json.data.records.every(({state}: {state: string}) => state === 'unknown'));
});
