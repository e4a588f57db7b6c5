// Points at which tests kill the process, to check what survives: before and after each step that makes something durable or sends
// something. In a normal build a crash point does nothing, whatever the environment says; see TEST_BUILD in bin/build.mjs.
import {z} from 'zod';

export const crashPoints = [
  'spool-sync.before',
  'spool-sync.after',
  'spool-rename.before',
  'spool-rename.after',
  'held-row.before',
  'held-row.after',
  'reply.before',
  'reply.after',
  'relay.before',
  'relay.after',
  'delivery.before',
  'delivery.after',
  'release-row.before',
  'release-row.after',
  'discard-row.before',
  'discard-row.after',
  'change-row.before',
  'change-row.after',
  'outbox-send.before',
  'outbox-send.after',
  'apply.before',
  'apply.after',
] as const;

export type CrashPoint = (typeof crashPoints)[number];

declare const TEST_BUILD: boolean;

/** `held-row.after:3` kills the process when it reaches that point for the third time. */
const wantedSchema = z.string().transform((text, context) => {
  const [name, times = '1'] = text.split(':');
  const point = crashPoints.find(known => known === name);
  if (point && /^[1-9]\d{0,8}$/.test(times)) return {point, times: Number(times)};
  context.addIssue(`FAULT_CRASH_AT: ${text} is no crash point; there are ${crashPoints.join(', ')}`);
  return z.NEVER;
});

const createCrashPoints = (environment: Record<string, string | undefined>): ((point: CrashPoint) => void) => {
  if (environment.FAULT_CRASH_AT === undefined) return () => {};
  const wanted = wantedSchema.parse(environment.FAULT_CRASH_AT);
  let left = wanted.times;
  return point => {
    if (point !== wanted.point) return;
    left -= 1;
    // SIGKILL, so that no handler and no flush runs.
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
};

export const crashPoint: (point: CrashPoint) => void =
  typeof TEST_BUILD !== 'undefined' && TEST_BUILD ? createCrashPoints(process.env) : () => {};
