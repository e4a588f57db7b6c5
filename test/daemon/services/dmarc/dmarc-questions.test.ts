import test from 'ava';
import {fromGiven, givenBatchSchema} from '../../../../daemon/services/dmarc/dmarc-questions.ts';
import {mailCount, policyOf} from '../../../helpers/dmarc.ts';

test('what a node of 0.8 gives is counted as its own, without what belongs to another report', t => {
  const policy_domain = 'x_y.bank.test';
  const count = mailCount(3, {policy_domain, policy: policyOf(policy_domain)});
  const others = [
    {...count, day: '2026-03-02'},
    mailCount(1),
    {...count, policy: policyOf('shop.test')},
    {...count, policy: null},
  ];
  const body = {batch: '2.abc', day: '2026-03-01', policy_domain, counts: [{...count, origin: 7}, ...others]};

  const given = givenBatchSchema.parse(JSON.parse(JSON.stringify(body)));

  t.deepEqual(fromGiven(given, 2), [{...count, origin: 2, batch: '2.abc'}]);
});
