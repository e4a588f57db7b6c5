import test from 'ava';
import pino from 'pino';
import {createCutOff} from '../../../daemon/node/trust.ts';

const hourMs = 3_600_000;

const arrange = () => {
  const state: {end: Date | undefined; nowMs: number} = {end: undefined, nowMs: 0};
  const lines: {level: number; msg: string; err: {message: string}}[] = [];
  const log = pino({}, {write: (line: string) => void lines.push(JSON.parse(line))});
  return {state, lines, cutOff: createCutOff({since: () => state.end, log, monotonic: () => state.nowMs})};
};

test('a node that is cut off says so with what to do, and logs it at once and then once an hour', t => {
  const {state, lines, cutOff} = arrange();
  state.end = new Date('2026-01-02T03:04:05Z');

  for (const nowMs of [0, 60_000, hourMs - 1, hourMs, hourMs + 60_000, 2 * hourMs]) {
    state.nowMs = nowMs;
    t.true(cutOff.couldNotRenew(new Error(`at ${nowMs}`)));
  }

  t.is(cutOff.since(), '2026-01-02T03:04:05.000Z');
  t.regex(cutOff.advice() ?? '', /cut off .* expired at 2026-01-02T03:04:05.000Z .*mail goes on.*tls\/ca\.key/);
  t.deepEqual(
    lines.map(({level, msg, err}) => [level, msg, err.message]),
    [0, hourMs, 2 * hourMs].map(nowMs => [50, cutOff.advice(), `at ${nowMs}`]),
  );
});

test('a renewal that fails in time is not its to tell', t => {
  const {lines, cutOff} = arrange();

  t.false(cutOff.couldNotRenew(new Error('x')));

  t.deepEqual([cutOff.since(), cutOff.advice(), lines], [undefined, undefined, []]);
});
