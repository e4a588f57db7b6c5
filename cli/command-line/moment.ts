// Moments and durations, as they are typed and as they are printed.
import {InvalidArgumentError} from 'commander';

/** Parses a duration into milliseconds. */
export const durationMs = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('Must be a duration such as 30s, 10m or 1h30m.');
  return ms;
};

/** The same, and accepts 0s. */
export const durationOrNone = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Must be a duration such as 30s or 5m, or 0s.');
  return ms;
};

/** For `--since`: parses a moment that has passed, or a duration before now, into ISO 8601 UTC. */
export const pastMoment = (text: string): string => {
  const nowMs = Date.now();
  const at = momentOrThrow(pastMomentIn(text, nowMs), pastForms);
  // Clocks differ, and so does what a script computed a moment ago.
  if (Date.parse(at) > nowMs + 60_000) throw new InvalidArgumentError(`${at} is still to come.`);
  return at;
};

/** The same for `--until`, which may lie ahead. */
export const endMoment = (text: string): string => momentOrThrow(pastMomentIn(text, Date.now()), pastForms);

/** Parses a duration from now into ISO 8601 UTC. */
export const momentAfter = (text: string): string => {
  const aheadMs = parseDuration(text);
  const moment = aheadMs === undefined ? undefined : momentAt(Date.now() + aheadMs);
  if (moment === undefined) throw new InvalidArgumentError('Must be a duration such as 12h or 90d.');
  return moment;
};

/** Parses a moment that is still to come into ISO 8601 UTC. */
export const exactMoment = (text: string): string => {
  const nowMs = Date.now();
  const read = readMoment(text, nowMs, 'next');
  const isPast = read.at === undefined && read.fault === undefined && readMoment(text, nowMs, 'last').at !== undefined;
  if (isPast) throw new InvalidArgumentError(`${text} is past.`);
  return momentOrThrow(read, futureForms);
};

const pastForms = "2h, 12:30, yesterday, monday, 2026-03-01, '2026-03-01 12:30' or 2026-03-01T12:30:00Z";
const futureForms = "18:30, tomorrow, monday, 2027-01-31, '2027-01-31 18:30' or 2027-01-31T18:30:00Z";

const momentOrThrow = ({at, fault}: ReadMoment, forms: string): string => {
  if (at !== undefined) return at;
  throw new InvalidArgumentError(
    fault === undefined ? `Must be a time such as ${forms}.` : `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`,
  );
};

/** Why a text is no moment that has passed and no duration before now. */
export const pastMomentFault = (text: string, nowMs: number): string | undefined => {
  const {at, fault = `must be a time such as ${pastForms}`} = pastMomentIn(text, nowMs);
  return at === undefined ? fault : undefined;
};

/** What an option with a moment was given as, where that depends on the zone or the day of this machine: to be shown. */
export const shownMoment = (text: string, parser: unknown, nowMs: number): string | undefined => {
  if (parser !== pastMoment && parser !== endMoment && parser !== exactMoment) return undefined;
  const {at, isLocal} = readMoment(text, nowMs, parser === exactMoment ? 'next' : 'last');
  return at !== undefined && isLocal ? zonedText(Date.parse(at)) : undefined;
};

const unitMs: Record<string, number> = {s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000};

/** `90d`, `2h`, `1h30m` in milliseconds; undefined when it is not a duration. */
export const parseDuration = (text: string): number | undefined => {
  if (!/^(\d{1,9}[smhdw])+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+)([smhdw])/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ''] ?? 0),
    0,
  );
};

export interface ReadMoment {
  /** ISO 8601 UTC. */
  at?: string | undefined;
  /** Whether another machine, or another day, would have another moment for the same text. */
  isLocal?: boolean;
  /** What is impossible about a text that has the form of a moment. */
  fault?: string;
}

/** A moment before now, or a duration before it. */
const pastMomentIn = (text: string, nowMs: number): ReadMoment => {
  const backMs = parseDuration(text);
  return backMs === undefined ? readMoment(text, nowMs, 'last') : {at: momentAt(nowMs - backMs)};
};

/**
 * A timestamp; a date (from 00:00 UTC); or as people write it, in the zone of this machine: `12:30`, `yesterday`, `monday 9:00`,
 * `2026-03-01 12:30`. A time or a weekday alone is the last one before now, or the next one after it. Without any, `at` is undefined.
 */
export const readMoment = (text: string, nowMs: number, which: 'last' | 'next'): ReadMoment => {
  const typed = text.trim().toLowerCase();
  const [, year, month, day, rest = ''] = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[t ]\s*(\S.*))?$/.exec(typed) ?? [];
  if (year !== undefined) return onDate({year: Number(year), month: Number(month), day: Number(day)}, rest);

  const [, word, time] = /^(?:([a-z]+)(?:\s+|$))?(\d{1,2}:\S+)?$/.exec(typed) ?? [];
  if (word === undefined && time === undefined) return {};
  const clock = time === undefined ? midnight : clockOf(time);
  if (clock === undefined) return {};
  if (clock.fault !== undefined) return {fault: clock.fault};
  if (clock.offset !== undefined) return {};
  const toTime = daysTo(clock, nowMs, which);
  const days = word === undefined ? toTime : dayOf(word, {nowMs, which, isTodayOver: toTime === 0});
  if (days === undefined) return {};
  return localMoment(new Date(nowMs), {...clock, days, isWholeDay: time === undefined});
};

interface CalendarDay {
  year: number;
  month: number;
  day: number;
}

const monthNames = 'January February March April May June July August September October November December'.split(' ');

const onDate = ({year, month, day}: CalendarDay, time: string): ReadMoment => {
  // `Date` takes smaller years for those of the twentieth century.
  if (year < 100) return {};
  const name = monthNames[month - 1];
  if (name === undefined) return {fault: `there is no month ${month}`};
  if (day < 1 || day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return {fault: `${name} ${year} has no day ${day}`};
  if (time === '') return {at: momentAt(Date.UTC(year, month - 1, day))};

  const clock = clockOf(time);
  if (clock === undefined || clock.fault !== undefined) return clock ?? {};
  if (clock.offset === undefined) return localMoment(new Date(year, month - 1, day), {...clock, days: 0});
  return {at: momentAt(Date.UTC(year, month - 1, day, clock.hour, clock.minute, clock.second, clock.ms) - clock.offset)};
};

interface Clock {
  hour: number;
  minute: number;
  second: number;
  ms: number;
  /** East of UTC, in milliseconds. */
  offset?: number | undefined;
  fault?: string;
}

const midnight: Clock = {hour: 0, minute: 0, second: 0, ms: 0};

/** `9:05`, `12:30:15.250`, with `Z` or `+01:00` after it. */
const clockOf = (text: string): Clock | undefined => {
  const match = /^(\d{1,2}):(\d\d)(?::(\d\d)(\.\d{1,9})?)?\s*(z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/.exec(text);
  if (!match) return undefined;
  const [hour = 0, minute = 0, second = 0] = match.slice(1, 4).map(part => Number(part ?? 0));
  const [, , , , fraction = '', zone] = match;
  const clock = {hour, minute, second, ms: Number(fraction.slice(1, 4).padEnd(3, '0')), offset: offsetOf(zone)};
  const wrong = [['hour', hour, 23] as const, ['minute', minute, 59] as const, ['second', second, 59] as const].find(
    ([, value, most]) => value > most,
  );
  return wrong ? {...clock, fault: `there is no ${wrong[0]} ${wrong[1]}`} : clock;
};

const offsetOf = (zone: string | undefined): number | undefined => {
  if (zone === undefined || zone === 'z') return zone && 0;
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number);
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
};

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** Days from today. A weekday is the last one, today included if the time is over, or the next one after today. */
const dayOf = (
  word: string,
  {nowMs, which, isTodayOver}: {nowMs: number; which: 'last' | 'next'; isTodayOver: boolean},
): number | undefined => {
  if (word === 'today') return 0;
  if (word === 'yesterday' && which === 'last') return -1;
  if (word === 'tomorrow' && which === 'next') return 1;
  const weekday = weekdays.findIndex(name => name === word || name.slice(0, 3) === word);
  if (weekday < 0) return undefined;
  const back = (new Date(nowMs).getDay() - weekday + 7) % 7;
  if (which === 'next') return 7 - back;
  return back === 0 && !isTodayOver ? -7 : -back;
};

/** Of a time without a day. */
const daysTo = ({hour, minute, second}: Clock, nowMs: number, which: 'last' | 'next'): number => {
  const isAhead = new Date(nowMs).setHours(hour, minute, second, 0) > nowMs;
  if (which === 'last') return isAhead ? -1 : 0;
  return isAhead ? 0 : 1;
};

const localMoment = (
  base: Date,
  {days, isWholeDay = false, hour, minute, second, ms}: Clock & {days: number; isWholeDay?: boolean},
): ReadMoment => {
  const moment = new Date(base.getFullYear(), base.getMonth(), base.getDate() + days, hour, minute, second, ms);
  // Where clocks are put forward an hour is missing. In some zones that is midnight: then a day begins at the first time that there is.
  if (!isWholeDay && (moment.getHours() !== hour || moment.getMinutes() !== minute))
    return {fault: `there is no ${twoDigits(hour)}:${twoDigits(minute)} on ${dayText(moment)} here: clocks are put forward`};
  return {at: momentAt(moment.getTime()), isLocal: true};
};

/** As ISO 8601 UTC: a moment that has passed, or a duration before now. */
export const isoMomentBefore = (text: string, nowMs: number): string | undefined => pastMomentIn(text, nowMs).at;

export const momentAt = (ms: number): string | undefined => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined);

/** `2026-03-01 12:30:00 +01:00` */
const zonedText = (ms: number): string => {
  const date = new Date(ms);
  const east = -date.getTimezoneOffset();
  const zone = `${east < 0 ? '-' : '+'}${twoDigits(Math.floor(Math.abs(east) / 60))}:${twoDigits(Math.abs(east) % 60)}`;
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
  return `${dayText(date)} ${time} ${zone}`;
};

const dayText = (date: Date): string => [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-');

const twoDigits = (number: number): string => String(number).padStart(2, '0');
