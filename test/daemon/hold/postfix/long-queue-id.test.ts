import test from 'ava';
import {longIdTime} from '../../../../daemon/hold/postfix/hold-file.ts';

test('a long queue id tells when it was given, a short one does not', t => {
  t.is(longIdTime('4jXCly3lkXzJc6h')?.seconds, 1_795_314_766);
  t.is(longIdTime('3F2A91C0BD'), undefined);
  t.is(longIdTime('ABCDEF'), undefined);
});
