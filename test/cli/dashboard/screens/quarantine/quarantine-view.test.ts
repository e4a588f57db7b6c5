import test from 'ava';
import {initialList} from '../../../../../cli/dashboard/list/list.ts';
import {listLines} from '../../../../../cli/dashboard/list/list-lines.ts';
import {questionLines} from '../../../../../cli/dashboard/screens/quarantine/held-mail-actions.ts';
import type {HeldPart} from '../../../../../cli/dashboard/screens/quarantine/held-part.ts';
import type {Preview} from '../../../../../cli/dashboard/screens/quarantine/mail-previews.ts';
import {previewLines} from '../../../../../cli/dashboard/screens/quarantine/preview-lines.ts';
import {
  previewArea,
  type QuarantineFacts,
  quarantineList,
  toneOfScore,
} from '../../../../../cli/dashboard/screens/quarantine/quarantine-list.ts';
import {initialScreen, pickedMail} from '../../../../../cli/dashboard/screens/quarantine/screen-state.ts';
import type {Size} from '../../../../../cli/dashboard/shell/shell.ts';
import {createTheme} from '../../../../../cli/dashboard/shell/theme.ts';
import {CliError} from '../../../../../cli/errors.ts';
import {displayWidth} from '../../../../../cli/output/display-width.ts';
import {mailId} from '../../../../../cli/quarantine/held-mail-columns.ts';
import {detail, hostile, mail} from '../../../../helpers/cli/sample-records.ts';
import {heldMails} from '../../../../helpers/dashboard/held-mails.ts';

const sizes: Size[] = [
  {columns: 80, rows: 19},
  {columns: 200, rows: 55},
  {columns: 120, rows: 30},
  {columns: 40, rows: 12},
  {columns: 80, rows: 5},
];

const theme = createTheme(true);
const thresholds = new Map();
const plain = (line: string): string => line.replace(/\x1b\[\d+m/g, '');
const now = Date.parse('2026-03-01T12:00:00Z');

const partOf = (mails: (typeof mail)[], change: Partial<HeldPart> = {}): HeldPart => ({
  ...{filter: '', order: 0, mails, offset: 0, total: mails.length, unreachableNodes: []},
  ...change,
});

const ready: Preview = {
  state: 'ready',
  detail,
  contents: {
    headers: [
      {name: 'Subject', value: hostile},
      {name: `X-${'long'.repeat(30)}`, value: 'a'.repeat(2000)},
      {name: 'X-Wide', value: '漢字'.repeat(300)},
    ],
    attachments: [{filename: hostile, content_type: hostile, size_bytes: 5}],
    preview: `${hostile}\n\ttab\n${'x'.repeat(500)}`,
    links: [`${hostile} → https://${'x'.repeat(300)}`],
    limitation: 'less is shown',
  },
};

const linesOf = (size: Size, change: Partial<QuarantineFacts> = {}, cursor = 0): string[] => {
  const part = partOf([mail, ...heldMails(30)]);
  const facts: QuarantineFacts = {
    ...{state: initialList, part, loaded: {failure: undefined, loadedAtMs: now}, screen: initialScreen},
    ...{acting: {actions: new Map(), failed: undefined}, preview: [], mail, names: undefined},
    ...{thresholds, size, nowMs: now, theme},
    ...change,
  };
  const state = {...initialList, ...facts.state, position: {cursor, top: 0}};
  return listLines(quarantineList(facts), state, {size, theme, isActive: true, nowMs: now});
};

for (const size of sizes)
  for (const mode of ['off', 'beside', 'full'] as const)
    test(`no line of ${size.columns} × ${size.rows} is too long, whatever is in the mail: preview ${mode}`, t => {
      const room = {width: previewArea(size, mode).columns, theme, thresholds};
      const preview = room.width > 0 ? previewLines({...mail, subject: '漢字'.repeat(200)}, ready, room) : [];
      const picked = new Map([[mailId(mail), pickedMail(mail)]]);
      const screen = {...initialScreen, preview: mode, picked, rangeStart: mail, newAbove: 5};
      const lines = linesOf(size, {preview, screen, part: partOf([mail, ...heldMails(30)], {total: 1_000_000, offset: 2})});

      t.true(lines.length <= size.rows);
      for (const line of lines.map(plain)) {
        t.true(displayWidth(line) <= size.columns, `${displayWidth(line)}: ${line}`);
        t.notRegex(line, /[\x00-\x1f\x7f-\x9f\u202e\u200b]/u);
      }
    });

test('each row of the table fills the width, so that nothing of the row before shines through', t => {
  const lines = linesOf({columns: 80, rows: 19}).slice(2).map(plain);

  t.deepEqual(
    lines.map(line => displayWidth(line)),
    lines.map(() => 80),
  );
});

test('there is more to see where there is room', t => {
  const header = (columns: number): string => plain(linesOf({columns, rows: 19})[2] ?? '');

  t.deepEqual(header(80).trim().split(/\s+/), ['ARRIVED', 'SCORE', 'REASON', 'SENDER', 'TO', 'SUBJECT']);
  t.deepEqual(header(200).trim().split(/\s+/).slice(-3), ['SIZE', 'NODE', 'SYMBOLS']);
});

test('the number of further recipients is seen at every width that has a column for them', t => {
  const recipients = ['accounting.department@example.com', 'b@example.com', 'c@example.com'];
  const part = partOf([{...mail, recipients}, ...heldMails(3)]);

  for (const columns of [80, 100, 120, 160])
    t.regex(linesOf({columns, rows: 19}, {part}).map(plain).join('\n'), /acc\S* \+2 /, `${columns}`);
});

test('addresses are whole while the subjects have room', t => {
  const addresses = {sender: 'news@newsletter.example.net', recipients: ['accounting.department@example.com']};
  const part = partOf([{...mail, ...addresses, subject: 'Your invoice'}]);

  const text = linesOf({columns: 120, rows: 19}, {part}).map(plain).join('\n');

  t.regex(text, /news@newsletter\.example\.net {2,}accounting\.department@example\.com {2,}Your invoice/);
});

test('what is selected, what is under way and what a recipient asked for has a mark of its own', t => {
  const mails = heldMails(6)
    .reverse()
    .map((one, at) => ({...one, release_requested: at > 3}));
  const [, picked, releasing, discarding, , both] = mails.map(mailId);
  const pickedOnes = [picked, both].map((id, at) => [id ?? '', pickedMail(mails[at === 0 ? 1 : 5] ?? mail)] as const);
  const lines = linesOf(
    {columns: 80, rows: 19},
    {
      part: partOf(mails),
      screen: {...initialScreen, picked: new Map(pickedOnes)},
      acting: {
        actions: new Map([
          [releasing ?? '', 'release'],
          [discarding ?? '', 'discard'],
        ]),
        failed: undefined,
      },
    },
  ).map(plain);

  t.deepEqual(
    lines.slice(3, 9).map(line => line[0]),
    [' ', '✓', '»', '×', '?', '✓'],
  );
  t.true(lines[1]?.includes('✓ 2 selected'));
});

test('a range is shown from where it begins to the cursor', t => {
  const mails = heldMails(10).reverse();
  const screen = {...initialScreen, rangeStart: mails[2]};
  const lines = linesOf({columns: 80, rows: 19}, {part: partOf(mails), mail: mails[4], screen}, 4).map(plain);

  t.is(
    lines
      .slice(3, 13)
      .map(line => line[0])
      .join(''),
    '  ✓✓✓     ',
  );
});

test('a node that did not answer is named', t => {
  const part = partOf(heldMails(3), {unreachableNodes: ['mx2', 'mx3']});

  t.true(plain(linesOf({columns: 80, rows: 19}, {part})[1] ?? '').includes('! mx2, mx3 did not answer'));
});

test('what was read stays, with its age and what is wrong', t => {
  const failure = new CliError('unreachable', 'nothing listens there');
  const lines = linesOf({columns: 80, rows: 19}, {loaded: {failure, loadedAtMs: now - 60_000}}).map(plain);

  t.true(lines[1]?.includes('! as of 60s ago: nothing listens there'));
  t.regex(lines[3] ?? '', /12\.5 +spam/);
});

test('an empty list says why it is empty', t => {
  const shown = (change: Partial<QuarantineFacts>): string => linesOf({columns: 80, rows: 19}, change).map(plain).join('\n');
  const state = {filter: 'reason:spam', order: 0};
  const failure = new CliError('unreachable', 'nothing listens there');

  t.true(shown({part: undefined}).includes('Reading the list'));
  t.true(shown({part: partOf([])}).includes('No mail is held.'));
  t.true(shown({state}).includes('Reading the list'));
  t.true(shown({state, part: partOf([], state)}).includes('Nothing matches this filter. escape clears it'));
  t.true(shown({part: undefined, loaded: {failure, loadedAtMs: undefined}}).includes('cannot be read: nothing listens there'));
});

test('the bar says what is filtered, where one is, and which mail comes first', t => {
  const state = {filter: 'since:2h a b', order: 1};
  const part = partOf(heldMails(3), {...state, total: 50_000});
  const [bar] = linesOf({columns: 100, rows: 19}, {state, part}).map(plain);

  t.true(bar?.includes('/ since:2h a b'));
  t.true(bar?.includes('1 of 50,000 mails · oldest first'));
});

test('a preview tells why a mail is held, what is in it, and when it has gone meanwhile', t => {
  const lines = previewLines(mail, {...ready, gone: 'It has been released.'}, {width: 100, theme, thresholds}).map(plain);

  for (const part of [
    'It has been released.',
    'Sender    <>',
    'From      ceo@bank.example',
    'b@example.com',
    '12.5',
    '11.50  HIGH',
    'less is shown',
    'Attachments',
    '5 B',
  ])
    t.true(
      lines.some(line => line.includes(part)),
      part,
    );
  t.true(lines.findIndex(line => line.includes('HIGH')) < lines.findIndex(line => line.includes('LOW')));
});

test('a preview of mail that was not verified says why, and one that is still read says nothing of it', t => {
  const verified = (preview: Preview): string | undefined =>
    previewLines(mail, preview, {width: 100, theme, thresholds})
      .map(plain)
      .find(line => line.startsWith('Verified'));

  t.is(
    verified({...ready, detail: {...detail, authentication: null}}),
    'Verified  no: from a trusted client or a user, or held by an earlier version',
  );
  t.is(verified({state: 'loading'}), undefined);
});

test('no line of a mail begins where ours begin', t => {
  const lines = previewLines(
    mail,
    {...ready, contents: {...ready.contents, preview: 'From      me@example.com\nText'}},
    {width: 80, theme, thresholds},
  );

  t.is(lines.filter(line => plain(line).startsWith('From ')).length, 1);
  t.is(lines.filter(line => plain(line) === 'Text').length, 1);
});

test('a score is marked by how near it is to being refused by its domain', t => {
  const known = new Map([['example.com', {quarantine_threshold: 10, reject_threshold: 13}]]);

  t.is(toneOfScore({score: 12.5, recipients: ['a@Example.com']}, known), 'bad');
  t.is(toneOfScore({score: 11.5, recipients: ['a@example.com']}, known), 'warn');
  t.is(toneOfScore({score: 10.5, recipients: ['a@example.com']}, known), undefined);
  t.is(toneOfScore({score: 12.5, recipients: ['a@example.org']}, known), 'bad');
});

test('a question names how many, what happens, the first of them, and the nodes that are silent', t => {
  const mails = heldMails(10).map(pickedMail);
  const lines = questionLines({action: 'discard', mails, whole: 'of example.com', silentNodes: ['mx1'], width: 80});

  t.true(
    lines[0]?.startsWith(
      'Discard 10 mails: delete them for good, undelivered, all that matched when it was selected: of example.com',
    ),
  );
  t.true(lines.some(line => line.includes('10 of them on mx1')));
  t.true(lines.some(line => line.includes('s0@sender.example → a@example.com  mail 0')));
  t.true(lines.at(-1)?.includes('and 7 more'));
});
