import test from 'ava';
import {displayWidth} from '../../../cli/output/display-width.ts';
import {footerLine} from '../../../cli/tui/frame-lines.ts';
import {helpPage} from '../../../cli/tui/help-page.ts';
import {plainTheme, withoutStyle} from './drawn.ts';

const keys = [
  ['/', 'filter'],
  ['enter', 'read'],
  ['R', 'release'],
  ['?', 'help'],
  ['q', 'quit'],
] as const;

test('the footer tells of the help however little room there is', t => {
  const shown = [60, 40, 25, 12].map(width => withoutStyle(footerLine(plainTheme, width, keys)));

  t.deepEqual(shown, [
    ' / filter  enter read  R release  q quit  ? help ',
    ' / filter  enter read  ? help ',
    ' / filter  ? help ',
    ' ? help ',
  ]);
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

  for (const width of [58, 78, 118]) {
    const lines = page.lines(width).map(withoutStyle);
    const text = lines.join(' ').replace(/\s+/g, ' ');
    t.true(lines.every(line => displayWidth(line) <= width));
    for (const whole of [moving.join(' '), 'by pages', 'under the cursor', 'reason:phishing'])
      t.true(text.includes(whole), whole);
  }
});
