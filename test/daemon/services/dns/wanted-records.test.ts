import test from 'ava';
import {setupAdvice} from '../../../../daemon/services/dns/domain-dns.ts';
import {type DnsFacts, mtaStsPolicy, wantedRecords} from '../../../../daemon/services/dns/wanted-records.ts';

const facts = ({
  domain,
  ...change
}: Partial<Omit<DnsFacts, 'domain'>> & {domain?: Partial<DnsFacts['domain']>} = {}): DnsFacts => ({
  domain: {name: 'example.com', direction: 'inbound', dkim_active: true, ...domain},
  keys: [{dns_name: 's1._domainkey.example.com', dns_record: 'v=DKIM1; k=rsa; p=AAAA'}],
  hosts: ['mx1.example.net', 'mx2.example.net'],
  receiveAt: ['dmarc@example.com'],
  unread: [],
  hasCertificate: true,
  ...change,
});

const lines = (change: Parameters<typeof facts>[0] = {}) =>
  wantedRecords(facts(change)).map(({kind, name, values}) => `${kind} ${name} ${values.join(' | ')}`);

test('a domain whose mail comes through the nodes has all records', t => {
  const all = lines();

  t.deepEqual(all.slice(0, 4), [
    'mx example.com 10 mx1.example.net. | 10 mx2.example.net.',
    'spf example.com v=spf1 mx -all',
    'dkim s1._domainkey.example.com v=DKIM1; k=rsa; p=AAAA',
    'dmarc _dmarc.example.com v=DMARC1; p=none; rua=mailto:dmarc@example.com',
  ]);
  t.regex(all[4] ?? '', /^mta-sts _mta-sts\.example\.com v=STSv1; id=[0-9a-f]{32}$/);
  t.is(all[5], 'tls-rpt _smtp._tls.example.com v=TLSRPTv1; rua=mailto:postmaster@example.com');
  t.is(all.length, 6);
});

test('a domain that only sends names the nodes in SPF, and has no records for mail to it', t => {
  t.deepEqual(lines({domain: {direction: 'outbound'}, keys: []}), [
    'spf example.com v=spf1 a:mx1.example.net a:mx2.example.net -all',
    'dmarc _dmarc.example.com v=DMARC1; p=none; rua=mailto:dmarc@example.com',
  ]);
});

test('without a certificate of the operator there are no records about TLS', t => {
  t.false(lines({hasCertificate: false}).some(line => /^(mta-sts|tls-rpt)/.test(line)));
  t.is(mtaStsPolicy(facts({hasCertificate: false})), null);
});

test('the policy of MTA-STS names each node, and its id changes with them', t => {
  const idOf = (hosts: string[]) => lines({hosts}).find(line => line.startsWith('mta-sts'));

  t.is(mtaStsPolicy(facts()), 'version: STSv1\nmode: testing\nmx: mx1.example.net\nmx: mx2.example.net\nmax_age: 604800\n');
  t.not(idOf(['mx1.example.net']), idOf(['mx2.example.net']));
});

test('reports to another organisation need its consent, and those to a domain above or below do not', t => {
  const consent = (receiver: string) =>
    lines({receiveAt: [`dmarc@${receiver}`]}).filter(line => line.startsWith('dmarc-consent'));

  t.deepEqual(consent('reports.test'), ['dmarc-consent example.com._report._dmarc.reports.test v=DMARC1']);
  t.deepEqual(['example.com', 'mail.example.com'].flatMap(consent), []);
  t.deepEqual(
    lines({domain: {name: 'a.example.com'}, receiveAt: ['x@example.com']}).filter(line => /consent/.test(line)),
    [],
  );
});

test('an address with characters that end a URI is encoded, and without one there is no rua', t => {
  const dmarc = (receiveAt: string[]) => lines({receiveAt}).find(line => line.startsWith('dmarc '));

  t.is(dmarc(['a!b,c;d@example.com']), 'dmarc _dmarc.example.com v=DMARC1; p=none; rua=mailto:a%21b%2Cc%3Bd@example.com');
  t.is(dmarc([]), 'dmarc _dmarc.example.com v=DMARC1; p=none');
});

test('what is missing in the configuration is said, with what to do', t => {
  t.deepEqual(setupAdvice(facts()), []);
  const advice = setupAdvice(
    facts({keys: [], hosts: ['localhost'], receiveAt: [], unread: ['dmarc@gone.test'], hasCertificate: false}),
  ).join('\n');

  for (const part of [
    /called localhost.*set fqdn/,
    /mfctl domain dkim create example\.com/,
    /set dmarc\.receive_at/,
    /Reports to dmarc@gone\.test are not read here/,
    /set api\.cert_file/,
  ])
    t.regex(advice, part);
});
