import test from 'ava';
import {hasOwn, ownValue} from '../../shared/has-own.ts';

test('a property that is inherited is none', t => {
  const inheriting: object = Object.create({records: []}, {code: {value: 'ENOTFOUND'}});

  t.true(hasOwn(inheriting, 'code'));
  t.false(hasOwn(inheriting, 'records'));
});

test('a name from outside finds nothing that every object has', t => {
  const scores: Record<string, number> = {SPAM: 5, zero: 0};

  t.is(ownValue(scores, 'SPAM'), 5);
  t.is(ownValue(scores, 'zero'), 0);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'none']) t.is(ownValue(scores, name), undefined);
});
