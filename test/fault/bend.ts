// Malformed variants of a valid message: altered, or no message at all.
import type {Random} from './random.ts';

const odd: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  0.5,
  1e308,
  2 ** 53,
  2 ** 48,
  -(2 ** 31),
  '',
  'x',
  '\u0000',
  '\ud800',
  '__proto__',
  'x'.repeat(3000),
  [],
  {},
  [null],
  [[]],
  {length: 1e9},
  {toString: 1},
  '2026-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
  '0000',
  'sha256:',
  'ffffffffffff.ffff.ffff',
  '000000000000.0000.0001',
];

/** Replaces, removes, adds or nests some members; the message itself stays unchanged. */
export const bend = (random: Random, message: unknown): unknown => {
  let bent = message;
  for (let times = random.between(0, 3); times > 0; times -= 1) bent = bendOnce(random, bent);
  return bent;
};

const bendOnce = (random: Random, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || random.chance(0.15))
    return random.chance(0.05) ? nested(random) : random.pick(odd);
  if (Array.isArray(value)) return bendArray(random, value);
  const entries: [string, unknown][] = Object.entries(value);
  const kind = random.next();
  if (entries.length === 0 || kind < 0.1)
    return Object.fromEntries([...entries, [random.pick(['__proto__', 'constructor', 'x', '']), random.pick(odd)]]);
  const at = random.between(0, entries.length - 1);
  if (kind < 0.2) return Object.fromEntries(entries.filter((_, n) => n !== at));
  return Object.fromEntries(entries.map(([name, member], n) => [name, n === at ? bendOnce(random, member) : member]));
};

const bendArray = (random: Random, items: unknown[]): unknown[] => {
  const kind = random.next();
  if (items.length === 0 || kind < 0.1) return [...items, random.pick(odd)];
  if (kind < 0.15) return Array.from({length: 500}, () => items[0]);
  const at = random.between(0, items.length - 1);
  return items.map((item, n) => (n === at ? bendOnce(random, item) : item));
};

const nested = (random: Random): unknown => {
  let value: unknown = 'deep';
  for (let depth = random.pick([31, 33, 200]); depth > 0; depth -= 1) value = random.chance(0.5) ? [value] : {a: value};
  return value;
};

/** The bytes on the wire: mostly JSON, sometimes cut, doubled, or no JSON at all. */
export const written = (random: Random, message: unknown): Buffer => {
  // Only in the JSON text can a message get an own member of that name.
  const text = (JSON.stringify(message) ?? 'undefined').replaceAll(
    '"constructor":',
    random.chance(0.5) ? '"__proto__":' : '"constructor":',
  );
  const kind = random.next();
  if (kind < 0.9) return Buffer.from(text);
  if (kind < 0.93) return Buffer.from(text.slice(0, random.between(0, text.length)));
  if (kind < 0.95) return Buffer.from(`${text}${text}`);
  if (kind < 0.97) return random.bytes(random.between(0, 200));
  if (kind < 0.972) return Buffer.from('['.repeat(100_000));
  if (kind < 0.973) return Buffer.alloc(9 * 1024 * 1024, 0x20);
  return Buffer.concat([Buffer.from('\ufeff'), Buffer.from(text)]);
};
