// Lines around a screen: the tabs, the connection, the message, and the keys.
import {safeLine} from '../../../shared/safe-text.ts';
import {durationText, plural} from '../../output/cell-text.ts';
import type {Tone} from '../../output/column.ts';
import {displayWidth} from '../../output/display-width.ts';
import type {DeferredState} from './deferred-actions.ts';
import {fitText, wrapText} from './fit-text.ts';
import type {ConnectionState, LiveState} from './live.ts';
import {keysLine} from './modal-lines.ts';
import type {Notice} from './notices.ts';
import {type ScreenName, screenNames} from './screen-names.ts';
import type {Size} from './shell.ts';
import type {Theme} from './theme.ts';

/** The smallest usable terminal. */
const minSize: Size = {columns: 60, rows: 15};

/** `size`, or the smallest size that can be drawn. `size` has one row less than the terminal. */
export const usableSize = (size: Size): Size => {
  if (size.columns >= minSize.columns && size.rows + 1 >= minSize.rows) return size;
  return {columns: Math.max(size.columns, minSize.columns), rows: Math.max(size.rows, minSize.rows - 1)};
};

export const tooSmallLines = ({columns, rows}: Size): string[] =>
  [
    `The dashboard needs at least ${minSize.columns}×${minSize.rows}`,
    `and has ${columns}×${rows + 1}.`,
    'Enlarge the terminal, or leave with q.',
  ]
    .flatMap(line => wrapText(line, columns))
    .slice(0, rows);

export interface Message {
  text: string;
  tone: Tone | undefined;
}

/** Cells: less of the name of a context tells nothing. */
const leastName = 4;

export const tabsLine = (shown: ScreenName, name: string, {width, theme}: {width: number; theme: Theme}): string => {
  const titles = screenNames.map((screen, at) => `${at + 1} ${screen.charAt(0).toUpperCase()}${screen.slice(1)}`);
  // A line that is too long is drawn without the one below it.
  const tabs =
    [titles.map(title => ` ${title} `), titles.map(title => ` ${title}`), titles.map(title => ` ${title.replace(' ', '')}`)].find(
      some => some.join('').length <= width,
    ) ?? [];
  const used = displayWidth(tabs.join(''));
  const painted = tabs.map((tab, at) => (screenNames[at] === shown ? theme(tab, 'cursor', 'bold') : theme(tab, 'dim')));
  const available = width - used - 1;
  return painted.join('') + (available < leastName ? '' : theme(fitText(` ${name}`, available, 'right'), 'bold'));
};

const marks: Record<ConnectionState, readonly [mark: string, word: string, tone: Tone | undefined]> = {
  connecting: ['○', 'connecting', undefined],
  live: ['●', 'live', 'good'],
  polling: ['◐', 'polling', 'warn'],
  offline: ['✗', 'node does not answer', 'bad'],
};

interface StatusFacts {
  live: LiveState;
  isReadOnly: boolean;
  nowMs: number;
  node: string;
  width: number;
  theme: Theme;
  /** See `cutCue`. */
  cue?: string;
}

export const statusLine = ({live, isReadOnly, nowMs, node, width, theme, cue}: StatusFacts): string => {
  const [, , tone] = marks[live.connection];
  const left = ` ${statusText(live, nowMs)}`;
  // `node` is the first node of the context.
  const right = `${[isReadOnly ? 'read-only' : '', live.detour === undefined ? node : ''].filter(part => part !== '').join(' · ')} `;
  const rightWidth = Math.min(displayWidth(safeLine(right)), Math.floor(width / 2));
  return theme(cutText(left, width - rightWidth, cue), tone) + theme(fitText(right, rightWidth, 'right'), 'dim');
};

export const statusText = (live: LiveState, nowMs: number): string => {
  const [mark, word] = marks[live.connection];
  const age = live.receivedAtMs === undefined ? '' : `, heard ${ageText(nowMs - live.receivedAtMs)}`;
  const reason = live.reason === undefined ? '' : `: ${live.reason}`;
  const detour = live.detour === undefined ? '' : ` · ${live.detour}`;
  return `${mark} ${word}${age}${reason}${detour}`;
};

/** The end of a cut line: it names the key that shows all of it. */
export const cutCue = ' (! shows all)';
/** The same, when more text follows. */
export const briefCue = ' (!) ';

/** Hostile text in exactly `width` cells, with `cue` at its end when it is cut. */
const cutText = (text: string, width: number, cue = ''): string =>
  displayWidth(safeLine(text)) <= width
    ? fitText(text, width)
    : fitText(text, width - displayWidth(cue)) + fitText(cue, displayWidth(cue));

/** `now`, `12s ago`. */
export const ageText = (ageMs: number): string => {
  const seconds = Math.max(0, Math.floor(ageMs / 1000));
  return seconds < 2 ? 'now' : `${durationText(seconds)} ago`;
};

interface MessageLayout {
  nowMs: number;
  width: number;
  theme: Theme;
  notices?: readonly Notice[];
  /** See `cutCue`. */
  cue?: string;
}

export const messageLine = (
  message: Message | undefined,
  deferred: readonly DeferredState[],
  {nowMs, width, theme, notices = [], cue = ''}: MessageLayout,
): string => {
  const latest = deferred.findLast(({state}) => state === 'waiting') ?? deferred.at(-1);
  if (!latest && message) return theme(` ${cutText(message.text, width - 2, cue)}`, message.tone);
  if (!latest) return noticeLine(notices, {width, theme, cue});

  const more = deferred.length > 1 ? `; ${plural(deferred.length - 1, 'more action')} under way` : '';
  if (latest.state === 'waiting') {
    // The screen's clock ticks once a second, so it may be behind the moment of the confirmation.
    const leftMs = Math.min(latest.startsAtMs - nowMs, latest.delayMs);
    const seconds = Math.max(1, Math.ceil(leftMs / 1000));
    return theme(` ${cutText(`In ${seconds} s: ${latest.what}. u takes it back${more}`, width - 2, cue)}`, 'warn', 'bold');
  }
  const {done, total} = latest.progress ?? {done: 0, total: 0};
  const bar = total === 0 ? '' : ` ${progressBar(done / total, 20)} ${done} of ${total}`;
  return theme(` ${cutText(`Under way: ${latest.what}${bar}${more}`, width - 2, cue)}`, 'accent');
};

/** The notices that fit, worst first, and the number of the others. */
const noticeLine = (
  notices: readonly Notice[],
  {width, theme, cue = ''}: Pick<MessageLayout, 'width' | 'theme' | 'cue'>,
): string => {
  const [worst] = notices;
  if (!worst) return '';
  const texts = notices.map(({text}) => text);
  const all = texts.join(' · ');
  const isWholeShown = displayWidth(safeLine(all)) <= width - 2;
  const rest = isWholeShown ? '' : `${texts.length === 1 ? '' : ` (and ${texts.length - 1} more)`}${cue}`;
  const shown = isWholeShown ? all : fitText(worst.text, Math.max(0, width - 2 - rest.length)).trimEnd() + rest;
  return theme(` ${fitText(shown, width - 2)}`, worst.tone, 'bold');
};

/** As many keys as fit, and always those for help and quit. */
export const footerLine = (theme: Theme, width: number, keys: readonly (readonly [key: string, label: string])[]): string => {
  const named = (name: string) => keys.filter(([key]) => key === name);
  const widthOf = (some: typeof keys): number => some.reduce((sum, [key, label]) => sum + displayWidth(` ${key} ${label} `), 0);
  const [help, quit] = [named('?'), named('q')];
  const others = keys.filter(key => !help.includes(key) && !quit.includes(key));
  const available = width - widthOf(help);
  return keysLine(theme, available - widthOf(quit), others) + keysLine(theme, available, quit) + keysLine(theme, width, help);
};

export const progressBar = (part: number, width: number): string => {
  const full = Math.round(Math.max(0, Math.min(1, part)) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
};
