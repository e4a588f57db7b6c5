// Keys and commands of the quarantine, in the whole dashboard.
import test from 'ava';
import {drawDashboard} from '../../../../helpers/dashboard/drawn-dashboard.ts';

test('s and :sort change between the newest and the oldest first, each from the top', async t => {
  const {send, shows} = await drawDashboard(t);
  await shows('1 of 3 mails · newest first');

  send('j');
  await shows('2 of 3 mails');
  send('s');
  await shows('1 of 3 mails · oldest first');
  send('s');
  await shows('1 of 3 mails · newest first');
  send(':', 's', 'o', 'r', 't', ' ', 'o', 'l', 'd', 'e', 's', 't', '\r');
  await shows('1 of 3 mails · oldest first');
  send(':', 's', 'o', 'r', 't', ' ', 's', 'c', 'o', 'r', 'e', '\r');
  await shows('there is no order score: newest, oldest');
  t.pass();
});

test('a filter that was typed is found again with up, and is completed by tab', async t => {
  const {send, shows} = await drawDashboard(t);

  send('/', 'r', 'e', '\t', 's', 'p', 'a', 'm', '\r');
  await shows('/ reason:spam ');
  send('\x1b');
  await shows('/ all held mail');
  send('/');
  await shows('domain: from: sender: to: since:2h');
  send('\x1b[A');
  await shows('held for spam (ctrl+u empties the line)');
  t.pass();
});

test('a range that was begun in another list is given up', async t => {
  const {send, shows} = await drawDashboard(t);

  send('V');
  await shows('range: move to its other end');
  send('s');
  const drawn = await shows('oldest first');

  t.notRegex(drawn, /range:/);
});

test('over the whole screen n reads the next mail, which is under the cursor afterwards', async t => {
  const {send, shows} = await drawDashboard(t);

  send('\r');
  await shows('n next');
  await shows(/^mail 2$/m);
  send('n');
  await shows(/^mail 1$/m);
  send('\x1b');
  await shows('2 of 3 mails');
  t.notRegex(await shows('ARRIVED'), /n next/);
});

test('more than a hundred mails are discarded only when their number was typed', async t => {
  const {send, shows} = await drawDashboard(t, {mailCount: 101});
  await shows('1 of 101 mails');

  send('a');
  await shows('101 selected');
  send('D');
  await shows('type 101 and enter to discard:');
  send('y', '\r', '10', '\r');
  await shows('enter to discard: 10 ');
  send('1');
  await shows('enter to discard: 101');
  send('\r');

  await shows('discard 101 mails. u takes it back');
  t.pass();
});

test('an address that is typed after / is searched as one', async t => {
  const {send, shows} = await drawDashboard(t);
  await shows('1 of 3 mails');

  send('/', ...'a@example.com');
  await shows('from or to a@example.com (ctrl+u empties the line)');
  send('\r');
  await shows('/ address:a@example.com');
  t.pass();
});
