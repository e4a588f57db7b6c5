import test from 'ava';
import {queueIdTime} from '../../../../daemon/hold/postfix/queue-id-time.ts';

test('a long queue id tells when it was given, a short one does not', t => {
  t.is(queueIdTime('4jXCly3lkXzJc6h'), 1_795_314_766);
  t.is(queueIdTime('3F2A91C0BD'), undefined);
  t.is(queueIdTime('ABCDEF'), undefined);
});
