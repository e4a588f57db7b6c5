// When digests are due: a time of the day by the clock of a time zone.
import type {DigestSettings} from '../../../shared/digest.ts';
import {digestDefaults, isTimeZone, timeOfDay} from '../../../shared/digest-rules.ts';

const dayMs = 24 * 3_600_000;

/**
 * The last moment, in milliseconds since 1970, at which the clock showed this time. A time that a change to summer time leaves out is as much
 * later as the clock was put forward; one that comes twice counts when it comes first (RFC 5545 section 3.3.5).
 */
export const lastDueMs = ({at, timezone}: Pick<DigestSettings, 'at' | 'timezone'>, now: number): number => {
  const clock = clockOf(timezone);
  const [hours = 0, minutes = 0] = at.split(':').map(Number);
  // The clock may show a day more or less than UTC, and that time of its day may be still to come.
  const today = Math.floor(clock(now) / dayMs) * dayMs + (hours * 60 + minutes) * 60_000;
  for (let days = 1; ; days -= 1) {
    const due = momentOf(today + days * dayMs, clock);
    if (due <= now) return due;
  }
};

/** What the clock shows at a moment, as milliseconds since 1970 on that clock. */
type WallClock = (moment: number) => number;

const clockOf = (timeZone: string): WallClock => {
  const format = new Intl.DateTimeFormat('en', {
    ...{timeZone, hourCycle: 'h23', era: 'short'},
    ...{year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric'},
  });
  return moment => {
    const parts = new Map(format.formatToParts(moment).map(({type, value}) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
    return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  };
};

/** The moment at which the clock shows `shown`. */
const momentOf = (shown: number, clock: WallClock): number => {
  const aheadAt = (moment: number) => clock(moment) - moment;
  const [before, after] = [aheadAt(shown - dayMs), aheadAt(shown + dayMs)];
  const found = [shown - before, shown - after].filter(moment => clock(moment) === shown);
  return found.length > 0 ? Math.min(...found) : shown - before;
};

/** Where this version, or the ICU of this node, cannot read what another one has set: the default. */
export const readableTime = ({at, timezone}: Pick<DigestSettings, 'at' | 'timezone'>) => ({
  at: timeOfDay.test(at) ? at : digestDefaults.at,
  timezone: isTimeZone(timezone) ? timezone : digestDefaults.timezone,
});

/** `lastDueMs` at one moment, for many domains: most have the same settings. */
export const createDueTimes = (now: number): ((settings: Pick<DigestSettings, 'at' | 'timezone'>) => number) => {
  const known = new Map<string, number>();
  return ({at, timezone}) => {
    const name = `${at} ${timezone}`;
    const due = known.get(name) ?? lastDueMs(readableTime({at, timezone}), now);
    known.set(name, due);
    return due;
  };
};
