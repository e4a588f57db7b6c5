// Difficulties of first-time users who have not read any documentation.
import test from 'ava';
import {screenNames} from '../../../cli/dashboard/shell/screen-names.ts';
import {CliError, exitCodes} from '../../../cli/errors.ts';
import {drawDashboard} from '../../helpers/dashboard/drawn-dashboard.ts';

test('e after an action that did not get to its end says why, also after others that did', async t => {
  const failure = new CliError('unreachable', 'cannot reach mx1: nothing listens there', {
    exitCode: exitCodes.unreachable,
    cause: Object.assign(new Error('refused'), {code: 'ECONNREFUSED'}),
  });
  let isDown = true;
  const {send, shows} = await drawDashboard(t, {
    undoMs: 0,
    onChange: ({json}) => {
      if (isDown) throw failure;
      return (json as {items: object[]}).items.map(item => ({...item, state: 'discarded', already: false}));
    },
  });
  await shows('of 3 mails');
  send('e');
  await shows('no release and no discard has failed');

  send('R');
  await shows('Release 1 mail');
  send('y');
  await shows('1 not processed');
  send('e');
  const page = await shows('What failed last');
  send('q');
  isDown = false;
  send('D');
  await shows('Discard 1 mail');
  send('y');
  await shows('1 mail discarded');
  send('e');
  const later = await shows('What failed last');

  for (const text of [page, later]) t.regex(text, /0 mails released, 1 not processed: cannot reach mx1: nothing listens there/);
});

test('nothing says that mails are selected when they no longer are', async t => {
  const {send, shows} = await drawDashboard(t);
  await shows('of 3 mails');

  for (const [drop, left] of [
    ['A', /newest first *\n *\n/],
    [' ', '✓ 2 selected'],
  ] as const) {
    send('a');
    await shows('✓ 3 selected');
    send(drop);
    t.false((await shows(left)).includes('3 mails selected'), drop);
  }
});

for (const [what, keys] of [
  ['key', ['n']],
  ['command', [':new-key', '\r']],
] as const)
  test(`a ${what} that the dashboard may not use says why, and opens nothing`, async t => {
    const {send, shows} = await drawDashboard(t, {screen: 'keys', isReadOnly: true});
    await shows('monitoring');

    send(...keys);

    t.notRegex(await shows('the dashboard was opened with --read-only'), /New API key/);
  });

for (const screen of screenNames)
  test(`the footer of the screen ${screen} tells how to leave, in 80 columns`, async t => {
    const {shows} = await drawDashboard(t, {screen});

    await shows(/ q quit {2}\? help *$/m);
    t.pass();
  });

const refused = {
  cluster: ['t join token', 'X remove'],
  quarantine: ['R release', 'D discard'],
  domains: ['e edit', 'n new', 'D delete'],
  keys: ['n new', 'R rotate', 'X revoke', 'D delete'],
} as const;
for (const [screen, offers] of Object.entries(refused))
  test(`with --read-only the footer of the screen ${screen} offers nothing that changes something`, async t => {
    const options = {screen: screen as keyof typeof refused, columns: 120};
    const writing = await drawDashboard(t, options);
    const offered = await writing.shows(offers[0]);
    const reading = await drawDashboard(t, {...options, isReadOnly: true});

    const screenText = await reading.shows('q quit');

    for (const offer of offers) {
      t.true(offered.includes(offer), offer);
      t.false(screenText.includes(offer), offer);
    }
    reading.send('?');
    await reading.shows('not with --read-only');
  });

test('a message that is cut off is read in full with !', async t => {
  const detail = `the node says: ${'it is a long story, '.repeat(10)}and that is all`;
  const {send, shows} = await drawDashboard(t, {
    screen: 'keys',
    undoMs: 0,
    onChange: () => {
      throw new CliError('conflict_of_sorts', detail);
    },
  });
  await shows('monitoring');
  send('X');
  await shows('Revoke key');
  send('y');
  await shows('… (! shows all)');

  send('!');

  const page = await shows('── Messages');
  t.true(page.replace(/\s+/g, ' ').includes(detail));
});
