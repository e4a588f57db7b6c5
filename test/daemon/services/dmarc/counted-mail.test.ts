import test from 'ava';
import {countedMail} from '../../../../daemon/services/dmarc/counted-mail.ts';
import {policyOf, received} from '../../../helpers/dmarc.ts';

test('a mail is counted by policy domain, source, disposition, results and identifiers', t => {
  const counted = countedMail(received());

  t.deepEqual(counted, {
    policy: policyOf(),
    mail: {
      day: '2026-03-01',
      domain: 'example.com',
      policy_domain: 'bank.test',
      source_ip: '192.0.2.5',
      disposition: 'pass',
      dkim_aligned: true,
      spf_aligned: true,
      details: {
        header_from: 'bank.test',
        envelope_from: 'bank.test',
        dkim: [{result: 'pass', domain: 'bank.test', selector: 's1'}],
        spf: {result: 'pass', domain: 'bank.test'},
        override: null,
      },
    },
  });
});

test('the disposition is what was done because of DMARC, and a reason says where that is not what the policy asks for', t => {
  type Policy = 'none' | 'quarantine' | 'reject';
  const failing = (policy: Policy, outcome: 'relayed' | 'held' | 'rejected', isTesting = false, p: Policy = 'reject') => {
    const published = policyOf('bank.test', {isTesting, p});
    const counted = countedMail(received({dmarc: {result: 'fail', policy, aligned: [], published}, outcome}));
    return [counted?.mail.disposition, counted?.mail.details.override];
  };

  t.deepEqual(failing('reject', 'rejected'), ['reject', null]);
  t.deepEqual(failing('reject', 'held'), ['quarantine', 'local_policy']);
  t.deepEqual(failing('reject', 'relayed'), ['none', 'local_policy']);
  t.deepEqual(failing('quarantine', 'held'), ['quarantine', null]);
  t.deepEqual(failing('none', 'held'), ['none', null], 'held for what it contains');
  t.deepEqual(failing('quarantine', 'held', true), ['quarantine', 'policy_test_mode']);
  t.deepEqual(failing('none', 'relayed', true), ['none', 'policy_test_mode']);
  t.deepEqual(failing('none', 'relayed', true, 'none'), ['none', null], 'there was nothing to ease');
  const unknown = countedMail(received({dmarc: {result: 'temperror', aligned: []}}));
  t.deepEqual([unknown?.mail.disposition, unknown?.mail.details.override], ['none', 'other']);
  t.is(countedMail(received({dmarc: {policy: 'none'}}))?.mail.disposition, 'none');
});

test('mail without policy is counted without a policy domain, and mail without one author is not', t => {
  const without = countedMail(received({dmarc: {result: 'none', published: undefined as never, aligned: []}}));

  t.is(without?.mail.policy_domain, '');
  t.is(countedMail(received({dmarc: {author: undefined}})), undefined);
  t.is(countedMail({...received(), judgement: {}}), undefined, 'of a trusted client');
});

test('of many signatures those count first that pass', t => {
  const {judgement, ...mail} = received();
  const dkim = Array.from({length: 10}, (_, n) => ({
    result: n === 9 ? ('pass' as const) : ('fail' as const),
    domain: `s${n}.test`,
    selector: 's',
  }));
  const verified = judgement.verified && {...judgement.verified, results: {...judgement.verified.results, dkim}};

  const counted = countedMail({...mail, judgement: {...(verified && {verified})}});

  t.deepEqual(
    counted?.mail.details.dkim.map(({domain}) => domain),
    ['s9.test', 's0.test', 's1.test', 's2.test'],
  );
});

test('a bounce has no sender domain, and an address of IPv4 in IPv6 is that of IPv4', t => {
  const bounce = countedMail(received({sender: '', ip: '::ffff:192.0.2.9'}));

  t.is(bounce?.mail.details.envelope_from, '');
  t.is(bounce?.mail.source_ip, '192.0.2.9');
  t.is(countedMail(received({ip: 'fe80::1%eth0'}))?.mail.source_ip, 'fe80::1');
});
