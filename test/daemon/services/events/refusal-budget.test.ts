import test from 'ava';
import {createRefusalBudget} from '../../../../daemon/services/events/refusal-budget.ts';

const dayMs = 86_400_000;

const start = ({max_rows = 10_000_000, keep_days = 30} = {}) => {
  const clock = {now: Date.UTC(2026, 2, 1)};
  const budget = createRefusalBudget({limits: () => ({max_rows, keep_days}), now: () => clock.now});
  const taken = (count: number, clientIp: (n: number) => string): number =>
    Array.from({length: count}, (_, n) => budget.take(clientIp(n))).filter(Boolean).length;
  /** Of a flood without an end, with a refusal each `stepMs`. */
  const flood = (forMs: number, stepMs: number, clientIp: (n: number) => string): number => {
    let count = 0;
    for (let n = 0; n * stepMs < forMs; n += 1) {
      clock.now += stepMs;
      count += taken(1, () => clientIp(n));
    }
    return count;
  };
  return {clock, taken, flood};
};

const one = () => '192.0.2.1';
const many = (n: number) => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;

test('fifty refusals a second become entries, from all clients together, and a half from one', t => {
  const {clock, taken} = start();

  t.is(taken(1000, one), 25);
  t.is(
    taken(10, () => '192.0.2.2'),
    5,
  );
  t.is(taken(1000, many), 20);
  clock.now += 1000;
  t.is(taken(1000, many), 50);
});

test('the addresses of one network are one client', t => {
  const {taken} = start();

  t.is(
    taken(1000, n => `2001:db8::${n.toString(16)}`),
    25,
  );
});

test('in the long run refusals of all clients take a quarter of the log, and no more than 20,000 at once', t => {
  const {flood} = start({max_rows: 1_000_000, keep_days: 3});

  const first = flood(1000_000, 20, many);
  const next = flood(3 * dayMs, 1000, many);

  t.true(first >= 20_000 && first < 21_000, `${first}`);
  t.true(Math.abs(next - 250_000) < 10, `${next}`);
});

test('refusals of one client leave room for those of others', t => {
  const {taken, flood} = start();

  t.true(flood(dayMs / 4 - 60_000, 100, one) < 22_000);

  t.true(taken(100, one) <= 1);
  t.true(taken(50, many) >= 49);
});

test('a small log has few refusals, also after a quiet month', t => {
  const {clock, flood} = start({max_rows: 1000, keep_days: 30});
  clock.now += 60 * dayMs;

  t.is(flood(60_000, 20, many), 250);
});

test('a clock that is set back gives no more of them, and does not stop them', t => {
  const {clock, taken, flood} = start({max_rows: 1000, keep_days: 30});
  flood(60_000, 20, many);

  clock.now -= 10 * dayMs;

  t.is(taken(50, many), 0);
  clock.now += dayMs;
  t.is(taken(50, many), 8);
});
