import test from 'ava';
import {createDifference} from '../../../../daemon/hold/spool/difference.ts';

const names = Array.from({length: 20_000}, (_, n) => `Q${n.toString(36).padStart(9, '0')}`);

test('sets that are the same have no difference, in whatever order they come', t => {
  const difference = createDifference();

  for (const name of names) difference.toggle(name);
  t.false(difference.isNone());
  for (const name of names.toReversed()) difference.toggle(name);

  t.true(difference.isNone());
  t.deepEqual(names.filter(difference.mayHave), []);
});

test('what one set lacks is found, and little else', t => {
  const difference = createDifference();

  for (const name of names.slice(1)) difference.toggle(name);
  for (const name of [...names, 'only-here']) if (name !== names[300]) difference.toggle(name);

  t.false(difference.isNone());
  for (const name of [names[0], names[300], 'only-here']) t.true(difference.mayHave(name ?? ''));
  t.true(names.filter(difference.mayHave).length < 20);
});
