import test, {type ExecutionContext} from 'ava';
import {openSenderForm} from '../../../../../cli/dashboard/screens/quarantine/sender-form.ts';
import {filter} from '../../../../helpers/cli/sample-answers.ts';
import {detail, domain} from '../../../../helpers/cli/sample-records.ts';
import {startApi} from '../../../../helpers/cli/scripted-api.ts';
import {clientOf, createFakeShell} from '../../../../helpers/dashboard/fake-shell.ts';
import {eventually} from '../../../../helpers/eventually.ts';

const start = async (
  t: ExecutionContext,
  mayForAll: boolean,
  {sender = 'news@example.org', training = {}, filters = [] as unknown[]} = {},
) => {
  const added = {status: 201, data: {id: 7}};
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: {...detail, queue_id: 'aaaaaa', sender}},
    'GET /domains': {data: [domain]},
    [`GET /domains/${domain.id}/filters`]: {data: filters},
    'GET /filters': {data: []},
    [`POST /domains/${domain.id}/filters`]: added,
    'POST /filters': added,
    'POST /mail/quarantine/mx1/aaaaaa/train': training,
  });
  const shell = createFakeShell();
  const app = {client: await clientOf(api), may: () => mayForAll};
  const posts = () => api.requests.filter(({method}) => method === 'POST').map(({path, body}) => [path, JSON.parse(body)]);
  return {
    shell,
    posts,
    open: (action: 'allow' | 'block') => openSenderForm({...shell, app}, {node_id: 'mx1', queue_id: 'aaaaaa'}, action),
  };
};

test('the form says what it will do before a sender is blocked', async t => {
  const {shell, posts, open} = await start(t, true);

  await open('block');
  shell.fill(await shell.form(), {for: 'all domains', comment: 'phish'});
  const question = await shell.question();
  t.deepEqual(posts(), []);
  question.onYes();

  await eventually(() => shell.said.length > 0);
  t.deepEqual(question.lines, [
    'Block news@example.org for all domains?',
    '  later mail from news@example.org to all domains is refused.',
    '  The mail that is held now stays held.',
  ]);
  t.deepEqual(posts(), [['/filters', {action: 'block', match: 'sender', pattern: 'news@example.org', comment: 'phish'}]]);
  t.deepEqual(shell.said, ['Added filter 7 for news@example.org: block']);
});

test('a key that may not change all domains is offered the domain of the mail alone', async t => {
  const {shell, posts, open} = await start(t, false);

  await open('allow');
  const form = await shell.form();
  shell.fill(form, {});
  (await shell.question()).onYes();

  await eventually(() => shell.said.length > 0);
  t.deepEqual(form.fields[0]?.choices, ['example.com']);
  t.deepEqual(
    form.fields.map(({name}) => name),
    ['for', 'comment'],
    'nor may it train the scanner of all domains',
  );
  t.deepEqual(
    posts().map(([path]) => path),
    [`/domains/${domain.id}/filters`],
  );
});

const filterOf = (action: 'allow' | 'block') => ({...filter, id: 4, action, match: 'sender', pattern: 'news@example.org'});

test('the form is not sent for a filter that another one wins over, and says which', async t => {
  const {shell, posts, open} = await start(t, true, {filters: [filterOf('allow'), {...filterOf('block'), id: 5}]});

  await open('allow');
  const form = await shell.form();

  t.throws(() => shell.fill(form, {}), {
    message: /filter 5 of example\.com blocks news@example\.org, and wins over one that allows it: mfctl domain filters remove/,
  });
  t.deepEqual(posts(), []);
});

test('the question of a filter for all domains says where one of the domain wins', async t => {
  const {shell, open} = await start(t, true, {filters: [filterOf('allow')]});

  await open('block');
  shell.fill(await shell.form(), {for: 'all domains'});

  t.regex((await shell.question()).lines[1] ?? '', /is refused; but filter 4 of example\.com allows it there, and wins/);
});

test('a bounce opens no form', async t => {
  const {shell, open} = await start(t, true, {sender: ''});

  await open('block');

  t.false(shell.isAnythingOpen());
  t.regex(shell.failures[0]?.detail ?? '', /a bounce has no sender/);
});

test('the scanner is trained only when that is chosen, and the form says so before', async t => {
  const training = {data: {node_id: 'mx1', queue_id: 'aaaaaa', as: 'ham', outcome: 'learned'}};
  const {shell, posts, open} = await start(t, true, {training});

  await open('allow');
  shell.fill(await shell.form(), {train: 'yes'});
  const question = await shell.question();
  question.onYes();

  await eventually(() => shell.said.length > 0);
  t.true(question.lines.includes('  The scanner learns it as ham, for the mail of all domains.'));
  t.deepEqual(posts().at(-1), ['/mail/quarantine/mx1/aaaaaa/train', {as: 'ham'}]);
  t.deepEqual(shell.said, ['Added filter 7 for news@example.org: allow; the scanner learned this mail as ham']);
});

test('a training that fails says that the filter is there', async t => {
  const error = {code: 'conflict', detail: 'the built-in scanner learns nothing'};
  const {shell, open} = await start(t, true, {training: {status: 409, error}});

  await open('block');
  shell.fill(await shell.form(), {train: 'yes'});
  (await shell.question()).onYes();

  await eventually(() => shell.failures.length > 0);
  t.is(shell.failures[0]?.detail, 'Added filter 7 for news@example.org: block; but the built-in scanner learns nothing');
});
