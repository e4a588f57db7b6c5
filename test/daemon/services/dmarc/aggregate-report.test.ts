import test from 'ava';
import {aggregateReport, lastPolicy, reportId} from '../../../../daemon/services/dmarc/aggregate-report.ts';
import type {NodeCount} from '../../../../daemon/services/dmarc/dmarc-store.ts';
import {mailCount, policyOf} from '../../../helpers/dmarc.ts';

const reporter = {from: 'reports@example.com', organisation: 'Example & Sons', contact: undefined, generator: 'mfd 1.0'};
const subject = {day: '2026-03-01', policy_domain: 'bank.test'};
const counted = (count: number, fields: Partial<NodeCount> = {}): NodeCount => ({
  ...mailCount(count, fields),
  origin: 1,
  batch: 'b1',
  ...fields,
});

test('a report has the form of RFC 9990', t => {
  const {details} = mailCount(1);
  const failing = {disposition: 'quarantine', dkim_aligned: false, spf_aligned: false, source_ip: '2001:db8::7'} as const;
  const counts = [
    counted(2),
    counted(3, {origin: 2, domain: 'other.example'}),
    counted(4, {
      ...failing,
      details: {...details, envelope_from: '', dkim: [], spf: {result: 'fail', domain: 'evil.test'}, override: 'local_policy'},
    }),
  ];

  const xml = aggregateReport(
    {id: 'id@example.com', day: '2026-03-01'},
    {counts, policy: policyOf('bank.test', {sp: 'none', fo: '1:d'})},
    reporter,
  );

  t.is(
    xml,
    `<?xml version="1.0" encoding="UTF-8"?>
<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">
<version>1.0</version>
<report_metadata>
  <org_name>Example &amp; Sons</org_name>
  <email>reports@example.com</email>
  <report_id>id@example.com</report_id>
  <date_range>
    <begin>1772323200</begin>
    <end>1772409599</end>
  </date_range>
  <generator>mfd 1.0</generator>
</report_metadata>
<policy_published>
  <domain>bank.test</domain>
  <discovery_method>treewalk</discovery_method>
  <p>reject</p>
  <sp>none</sp>
  <fo>1:d</fo>
  <adkim>r</adkim>
  <aspf>r</aspf>
  <testing>n</testing>
</policy_published>
<record>
  <row>
    <source_ip>192.0.2.5</source_ip>
    <count>5</count>
    <policy_evaluated>
      <disposition>pass</disposition>
      <dkim>pass</dkim>
      <spf>pass</spf>
    </policy_evaluated>
  </row>
  <identifiers>
    <header_from>bank.test</header_from>
    <envelope_from>bank.test</envelope_from>
  </identifiers>
  <auth_results>
    <dkim>
      <domain>bank.test</domain>
      <selector>s1</selector>
      <result>pass</result>
    </dkim>
    <spf>
      <domain>bank.test</domain>
      <scope>mfrom</scope>
      <result>pass</result>
    </spf>
  </auth_results>
</record>
<record>
  <row>
    <source_ip>2001:db8::7</source_ip>
    <count>4</count>
    <policy_evaluated>
      <disposition>quarantine</disposition>
      <dkim>fail</dkim>
      <spf>fail</spf>
      <reason>
        <type>local_policy</type>
      </reason>
    </policy_evaluated>
  </row>
  <identifiers>
    <header_from>bank.test</header_from>
    <envelope_from></envelope_from>
  </identifiers>
  <auth_results>
    <spf>
      <domain>evil.test</domain>
      <scope>mfrom</scope>
      <result>fail</result>
    </spf>
  </auth_results>
</record>
</feedback>
`,
  );
});

test('what others have chosen is text, and nothing else', t => {
  const {details} = mailCount(1);
  const hostile = {...details, dkim: [{result: 'fail' as const, domain: 'a.test', selector: ']]>&<x>\u0000\u001b\u202e\ud800"'}]};

  const xml = aggregateReport(
    {id: 'i@e', day: '2026-03-01'},
    {counts: [counted(1, {details: hostile})], policy: policyOf()},
    reporter,
  );

  t.regex(xml, /<selector>\]\]&gt;&amp;&lt;x&gt;\ufffd\ufffd\ufffd\ufffd"<\/selector>/);
});

test('the same counts have the same id in any order, and others have another one', t => {
  const [one, other] = [counted(2, {digest: 'a'}), counted(3, {digest: 'b'})];
  const id = (...counts: NodeCount[]) => reportId(subject, counts, reporter);

  t.regex(id(one, other), /^2026-03-01\.bank\.test\.[0-9a-f]{8}@example\.com$/);
  t.is(id(one, other), id(other, one));
  t.not(id(one), id(one, other));
  t.not(id(one), id({...one, count: 3}));
  t.not(id(one), id({...one, batch: 'b2'}), 'as many mails of the same kinds, which came later');
});

test('the policy of a report is the one that was seen last', t => {
  const later = counted(1, {seen_at: '2026-03-01T12:00:00.000Z', policy: policyOf('bank.test', {p: 'none'})});

  t.is(lastPolicy([counted(1), later, counted(2)])?.record.p, 'none');
  t.is(lastPolicy([]), undefined);
});
