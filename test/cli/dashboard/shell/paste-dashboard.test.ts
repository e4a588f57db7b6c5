// Paste handling on the screens.
import test from 'ava';
import {domain} from '../../../helpers/cli/sample-records.ts';
import {drawDashboard} from '../../../helpers/dashboard/drawn-dashboard.ts';

test('what is pasted outside of a text field does nothing but say so', async t => {
  const {paste, shows, send} = await drawDashboard(t);
  await shows('of 3 mails');

  paste('Dy');

  const screen = await shows('Pasted text (2 characters) does nothing here: paste into a text field');
  t.false(screen.includes('Discard 1 mail'));
  send('j');
  await shows('2 of 3 mails');
});

test('a question is not answered by a paste', async t => {
  const {paste, shows, send} = await drawDashboard(t);
  await shows('of 3 mails');
  send('D');
  await shows('Discard 1 mail');

  paste('y');

  t.true((await shows('does nothing here')).includes('Discard 1 mail'));
});

test('a question is not answered by what was typed before it was there', async t => {
  const {shows, send} = await drawDashboard(t);
  await shows('of 3 mails');

  send('Dy');

  t.true((await shows('Typed before the question was shown: not taken as an answer')).includes('Discard 1 mail: delete it'));
  send('y');
  await shows(/In \d+ s: discard 1 mail/);
});

test('keys that are typed ahead of anything else are keys', async t => {
  const {shows, send} = await drawDashboard(t);
  await shows('of 3 mails');

  send('jj');
  await shows('3 of 3 mails');
  send(':audit\r');

  await shows(/5 Audit/);
  t.pass();
});

test('a filter takes a paste of several lines as one, and waits for enter', async t => {
  const {paste, shows, send} = await drawDashboard(t);
  await shows('of 3 mails');
  send('/');
  await shows('domain: from: sender: to:');

  paste('from:a@example.com\r\nsince:1h\n');

  await shows('/ from:a@example.com since:1h');
  send('\r');
  await shows(/ {2}\/ from:a@example\.com since:1h|^ \/ from:a@example\.com since:1h/m);
  t.pass();
});

test('a list that is pasted into a form makes no domain before it was asked', async t => {
  const made = {...domain, name: 'new.example'};
  const {paste, shows, send, changes} = await drawDashboard(t, {screen: 'domains', onChange: () => made});
  await shows('n new');
  send('n');
  await shows('New domain');

  paste('new.example\n');
  send('\t', '\t', '\t');
  paste('mx1.new.example:25\nmx2.new.example:25\n');
  await shows('mx1.new.example:25, mx2.new.example:25');
  send('\r');
  await shows('Create the domain new.example?');
  t.deepEqual(changes, []);
  send('y');

  await shows('Created new.example');
  t.like(changes, [{method: 'POST', json: {name: 'new.example', backend_servers: ['mx1.new.example:25', 'mx2.new.example:25']}}]);
});

test('on a terminal without markers a list that is pasted into a form makes no domain either', async t => {
  const {shows, send, changes} = await drawDashboard(t, {screen: 'domains'});
  await shows('n new');
  send('n');
  await shows('New domain');
  send('new.example', '\t', '\t', '\t');

  send('mx1.new.example:25\rmx2.new.example:25\r');

  await shows('mx1.new.example:25, mx2.new.example:25');
  send('\r');
  await shows('Create the domain new.example?');
  t.deepEqual(changes, []);
});

test('a paste that is cut says so', async t => {
  const {paste, shows, send} = await drawDashboard(t);
  send('/');
  await shows('domain: from: sender: to:');

  paste('x'.repeat(2_000_000));

  await shows('Pasted text of 2,000,000 characters was cut: the field took 4,096');
  t.pass();
});
