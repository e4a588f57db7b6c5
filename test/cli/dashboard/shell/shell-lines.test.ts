import test from 'ava';
import type {DeferredState} from '../../../../cli/dashboard/shell/deferred-actions.ts';
import {helpPage} from '../../../../cli/dashboard/shell/help-page.ts';
import {messagesPage} from '../../../../cli/dashboard/shell/messages-page.ts';
import {briefCue, cutCue, footerLine, messageLine, statusLine, tabsLine} from '../../../../cli/dashboard/shell/shell-lines.ts';
import {displayWidth} from '../../../../cli/output/display-width.ts';
import {plainTheme, withoutStyle} from '../../../helpers/dashboard/drawn.ts';

const keys = [
  ['/', 'filter'],
  ['enter', 'read'],
  ['R', 'release'],
  ['?', 'help'],
  ['q', 'quit'],
] as const;

test('the footer tells of the help however little room there is, and how to leave before anything else', t => {
  const shown = [60, 40, 25, 12].map(width => withoutStyle(footerLine(plainTheme, width, keys)));

  t.deepEqual(shown, [
    ' / filter  enter read  R release  q quit  ? help ',
    ' / filter  enter read  q quit  ? help ',
    ' q quit  ? help ',
    ' ? help ',
  ]);
});

test('the tabs fit the smallest screen, where a longer line would hide the state of the connection below it', t => {
  const line = (width: number) => withoutStyle(tabsLine('quarantine', 'context-of-mx1', {width, theme: plainTheme}));

  t.is(line(60), ' 1Cluster 2Quarantine 3Domains 4Keys 5Audit 6Events 7Trace');
  t.regex(line(80), /^ 1 Cluster {2}2 Quarantine .* 7 Trace +conte…$/);
  t.regex(line(90), /^ 1 Cluster {2}2 Quarantine .* 7 Trace +context-of-mx1$/);
  for (let width = 60; width < 120; width += 1) t.true(displayWidth(line(width)) <= width);
});

test('the help cuts nothing off', t => {
  const run = () => undefined;
  const moving = ['j', 'down', 'k', 'up', 'pagedown', 'ctrl+f', 'pageup', 'ctrl+b', 'ctrl+d', 'ctrl+u', 'g', 'home', 'G', 'end'];
  const page = helpPage(
    {
      title: 'quarantine',
      screen: [
        {keys: moving, help: 'move through the list, one by one or by pages', run},
        {keys: ['R'], help: 'release what is selected, or else the mail under the cursor', run},
      ],
      everywhere: [],
      commands: [{name: 'filter', help: 'find mail: :filter domain:example.com since:2h reason:phishing', run}],
    },
    plainTheme,
  );

  for (const [width, columns] of [
    [58, 1],
    [78, 1],
    [118, 2],
    [198, 3],
  ] as const) {
    const lines = page.lines(width).map(withoutStyle);
    const columnWidth = Math.floor((width + 3) / columns) - 3;
    const starts = Array.from({length: columns}, (_, at) => at * (columnWidth + 3));
    const text = starts
      .flatMap(start => lines.map(line => line.slice(start, start + columnWidth)))
      .join(' ')
      .replace(/\s+/g, ' ');
    t.true(lines.every(line => displayWidth(line) <= width));
    for (const whole of [moving.join(' '), 'by pages', 'under the cursor', 'reason:phishing'])
      t.true(text.includes(whole), whole);
  }
});

test('the status line names the node that is asked in place of the first one, and else the first one', t => {
  const line = (detour: string | undefined, isReadOnly: boolean) => {
    const live = {connection: 'live', receivedAtMs: 0, reason: undefined, detour} as const;
    return withoutStyle(statusLine({live, isReadOnly, nowMs: 0, node: 'mx1', width: 60, theme: plainTheme}));
  };

  t.is(line(undefined, true), ' ● live, heard now                          read-only · mx1 ');
  t.is(line('mx2:8443 in place of mx1:8443', false), ' ● live, heard now · mx2:8443 in place of mx1:8443          ');
});

const many = (count: number, word: string) =>
  Array.from({length: count}, (_, at) => ({keys: [`${word}${at}`], help: `${word} ${at}`, run: () => undefined}));

test('the help uses the width of the screen: all of it is seen at once where it has room side by side', t => {
  const page = helpPage(
    {
      title: 'quarantine',
      screen: many(20, 'one'),
      everywhere: many(10, 'two'),
      commands: [{name: 'filter', help: 'find', run: () => undefined}],
    },
    plainTheme,
  );

  t.is(page.lines(78).length, 35);
  t.true(page.lines(118).length <= 19);
  t.true(page.lines(198).length <= 13);
});

test('the help says of a key why it does nothing here', t => {
  const sections = {title: 'quarantine', screen: many(2, 'key'), everywhere: [], commands: []};
  const page = helpPage(
    {...sections, refused: ({keys}) => (keys[0] === 'key1' ? 'not with --read-only' : undefined)},
    plainTheme,
  );

  const text = page.lines(78).join('\n');

  t.regex(text, /key 0 +\n/);
  t.regex(text, /key 1 \(not with --read-only\)/);
});

const waiting: DeferredState = {
  id: 1,
  what: 'release 1 mail',
  state: 'waiting',
  startsAtMs: 105_000,
  delayMs: 5000,
  progress: undefined,
};

test('the count-down never says more seconds than there are, however late the clock of the screen ticks', t => {
  const said = (nowMs: number) => withoutStyle(messageLine(undefined, [waiting], {nowMs, width: 80, theme: plainTheme})).trim();

  for (const nowMs of [99_001, 99_500, 100_000]) t.is(said(nowMs), 'In 5 s: release 1 mail. u takes it back', String(nowMs));
  t.is(said(101_001), 'In 4 s: release 1 mail. u takes it back');
  t.is(said(104_999), 'In 1 s: release 1 mail. u takes it back');
});

test('a line that is cut off names the key that shows all of it, and one that is not does not', t => {
  const room = {nowMs: 0, width: 40, theme: plainTheme, cue: cutCue};
  const long = {text: `no answer from ${'x'.repeat(50)}`, tone: undefined};
  const live = {connection: 'offline', receivedAtMs: 0, reason: 'y'.repeat(50)} as const;

  t.is(withoutStyle(messageLine(long, [], room)), ' no answer from xxxxxxxx… (! shows all)');
  t.is(messageLine({...long, text: 'short'}, [], room).trim(), 'short');
  t.regex(withoutStyle(messageLine(undefined, [], {...room, notices: [{text: long.text, tone: 'bad'}]})), /… \(! shows all\)$/);
  t.regex(withoutStyle(messageLine(undefined, [{...waiting, what: long.text}], room)), /… \(! shows all\)$/);
  t.regex(
    withoutStyle(statusLine({live, isReadOnly: false, nowMs: 0, node: 'mx1', width: 60, theme: plainTheme, cue: briefCue})),
    /: y+… \(!\) mx1 $/,
  );
  t.false(messageLine(long, [], {...room, cue: ''}).includes('!'));
});

test('the page of messages has each in full, the newest first, below what is so now', t => {
  const text = 'a long message, '.repeat(20);
  const page = messagesPage(
    {
      status: `node does not answer: ${text}`,
      present: [{text: 'a certificate ends', tone: 'warn'}],
      said: [
        {text: 'first', tone: undefined, atMs: Date.parse('2026-03-01T12:00:00Z')},
        {text: `second ${text}`, tone: 'bad', atMs: Date.parse('2026-03-01T12:00:01Z')},
      ],
    },
    plainTheme,
  );

  const lines = page.lines(60).map(withoutStyle);
  const all = lines.join(' ').replace(/\s+/g, ' ');

  t.true(lines.every(line => displayWidth(line) <= 60));
  t.true(all.includes(`Now node does not answer: ${text}a certificate ends`));
  t.true(all.includes(`12:00:01Z second ${text}12:00:00Z first`));
});
