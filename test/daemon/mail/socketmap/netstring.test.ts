import test from 'ava';
import fc from 'fast-check';
import {createNetstringReader, MalformedNetstring, netstring} from '../../../../daemon/mail/socketmap/socketmap-server.ts';
import {anyCharacter} from '../../../helpers/any-character.ts';

const text = (bytes: string) => Buffer.from(bytes, 'latin1');

test('what is written is read again, however it is cut', t => {
  const cut = (bytes: Buffer, sizes: number[]): Buffer[] => {
    const parts: Buffer[] = [];
    for (let at = 0, n = 0; at < bytes.length; n += 1) {
      const size = sizes[n % sizes.length] ?? 1;
      parts.push(bytes.subarray(at, at + size));
      at += size;
    }
    return parts;
  };
  fc.assert(
    fc.property(
      fc.array(fc.string({unit: anyCharacter, maxLength: 40}), {maxLength: 8}),
      fc.array(fc.integer({min: 1, max: 30}), {minLength: 1}),
      (texts, sizes) => {
        const reader = createNetstringReader(1000);
        const read = cut(Buffer.concat(texts.map(netstring)), sizes).flatMap(part => reader.push(part));
        t.deepEqual(
          read.map(String),
          texts.map(one => Buffer.from(one).toString()),
        );
      },
    ),
  );
});

test('whatever else comes is read as netstrings or called malformed', t => {
  fc.assert(
    fc.property(fc.uint8Array({maxLength: 60}), bytes => {
      try {
        for (const one of createNetstringReader(100).push(Buffer.from(bytes))) t.true(one.length <= 100);
      } catch (error) {
        t.true(error instanceof MalformedNetstring);
      }
    }),
  );
});

for (const [name, bytes] of [
  ['no length', 'hello'],
  ['an empty length', ':,'],
  ['a sign', '-1:a,'],
  ['a leading zero', '01:a,'],
  ['another end', '1:a;'],
  ['a length above the limit', '101:'],
  ['a length of many digits', '99999999999999999999:'],
  ['many digits without a colon', '1000'],
] as const)
  test(`${name} is malformed`, t => {
    t.throws(() => createNetstringReader(100).push(text(bytes)), {instanceOf: MalformedNetstring});
  });

test('the longest and the shortest are taken', t => {
  const reader = createNetstringReader(100);

  t.deepEqual(reader.push(text(`100:${'x'.repeat(100)},0:,`)).map(String), ['x'.repeat(100), '']);
});
