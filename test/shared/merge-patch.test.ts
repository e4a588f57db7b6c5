import test from 'ava';
import fc from 'fast-check';
import {type Json, mergePatch} from '../../shared/merge-patch.ts';

test('the examples of RFC 7396 appendix A come out as written there', t => {
  const examples: [target: Json, patch: Json, result: Json][] = [
    [{a: 'b'}, {a: 'c'}, {a: 'c'}],
    [{a: 'b'}, {b: 'c'}, {a: 'b', b: 'c'}],
    [{a: 'b'}, {a: null}, {}],
    [{a: 'b', b: 'c'}, {a: null}, {b: 'c'}],
    [{a: ['b']}, {a: 'c'}, {a: 'c'}],
    [{a: 'c'}, {a: ['b']}, {a: ['b']}],
    [{a: {b: 'c'}}, {a: {b: 'd', c: null}}, {a: {b: 'd'}}],
    [{a: [{b: 'c'}]}, {a: [1]}, {a: [1]}],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{a: 'b'}, ['c'], ['c']],
    [{a: 'foo'}, null, null],
    [{a: 'foo'}, 'bar', 'bar'],
    [{e: null}, {a: 1}, {e: null, a: 1}],
    [[1, 2], {a: 'b', c: null}, {a: 'b'}],
    [{}, {a: {bb: {ccc: null}}}, {a: {bb: {}}}],
  ];

  for (const [target, patch, result] of examples) t.deepEqual(mergePatch(target, patch), result, JSON.stringify([target, patch]));
});

const json = fc.jsonValue({maxDepth: 3}) as fc.Arbitrary<Json>;

test('a patch can be applied twice without changing more, and changes neither argument', t => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = JSON.stringify([target, patch]);

      const once = mergePatch(target, patch);

      t.deepEqual(mergePatch(once, patch), once);
      t.is(JSON.stringify([target, patch]), before);
    }),
  );
});

test('an empty patch keeps an object, and no null of a patch is left in the result', t => {
  const hasNull = (value: Json): boolean =>
    typeof value === 'object' && !Array.isArray(value) && (value === null || Object.values(value).some(hasNull));

  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), json, (target, patch) => {
      t.deepEqual(mergePatch(target, {}), {...target});
      if (patch !== null) t.false(hasNull(mergePatch({}, patch)));
    }),
  );
});

test('a member called __proto__ is data and changes no prototype', t => {
  const merged = mergePatch({}, JSON.parse('{"__proto__": {"isAdmin": true}}')) as Record<string, Json>;

  t.is(Object.getPrototypeOf(merged), Object.prototype);
  t.is(merged.isAdmin, undefined);
  t.is(({} as Record<string, unknown>).isAdmin, undefined);
  t.is(JSON.stringify(merged), '{"__proto__":{"isAdmin":true}}');
});
