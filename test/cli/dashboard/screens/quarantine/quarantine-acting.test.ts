import {mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import type {Answer, Request} from '../../../../../cli/client/transport.ts';
import {initialList, listReducer} from '../../../../../cli/dashboard/list/list.ts';
import {actOnMails, createActingMails, resultText} from '../../../../../cli/dashboard/screens/quarantine/held-mail-actions.ts';
import {createMailPreviews} from '../../../../../cli/dashboard/screens/quarantine/mail-previews.ts';
import type {QuarantineContext} from '../../../../../cli/dashboard/screens/quarantine/quarantine-context.ts';
import {afterScreenEvent, initialScreen, type ScreenEvent} from '../../../../../cli/dashboard/screens/quarantine/screen-state.ts';
import {markRange} from '../../../../../cli/dashboard/screens/quarantine/select-keys.ts';
import {createViewStore, viewOf} from '../../../../../cli/dashboard/screens/quarantine/view-store.ts';
import type {Shell} from '../../../../../cli/dashboard/shell/shell.ts';
import {createStore} from '../../../../../cli/dashboard/shell/store.ts';
import {CliError} from '../../../../../cli/errors.ts';
import {mailId} from '../../../../../cli/quarantine/held-mail-columns.ts';
import {saveMail} from '../../../../../cli/quarantine/save-mail.ts';
import type {MailReference} from '../../../../../shared/held-mail.ts';
import {fakeClient} from '../../../../helpers/cli/fake-client.ts';
import {detail, outcome} from '../../../../helpers/cli/sample-records.ts';
import {createFakeShell} from '../../../../helpers/dashboard/fake-shell.ts';
import {createMailApi, heldMail, heldMails} from '../../../../helpers/dashboard/held-mails.ts';
import {eventually} from '../../../../helpers/eventually.ts';

const answer = <T>(data: unknown): Answer<T> => ({data: data as T, etag: undefined, totalCount: undefined, unreachableNodes: []});

const act = async (count: number, respond: (items: MailReference[], request: number) => unknown[]) => {
  const asked: MailReference[][] = [];
  const dealtWith: string[] = [];
  const progress: number[] = [];
  const send = async <T>({json}: Request): Promise<Answer<T>> => {
    const {items} = json as {items: MailReference[]};
    asked.push(items);
    return answer(respond(items, asked.length));
  };
  const result = await actOnMails('release', heldMails(count), {
    client: fakeClient({send}),
    onProgress: ({done}) => progress.push(done),
    onDone: mails => dealtWith.push(...mails.map(mailId)),
  });
  return {result, asked, dealtWith, progress};
};

test('many mails are acted on some at a time, with progress', async t => {
  const {result, asked, progress, dealtWith} = await act(250, items => items.map(({queue_id}) => outcome(queue_id)));

  t.is(asked[0]?.length, 100);
  t.deepEqual(asked.flat().map(mailId), heldMails(250).map(mailId));
  t.is(progress.at(-1), 250);
  t.deepEqual(dealtWith, heldMails(250).map(mailId));
  t.is(resultText('release', result), '250 mails released');
});

for (const [what, left] of [
  ['whole', undefined],
  ['without its newer end, which has left', 8],
  ['without its older end, which has left', 3],
] as const)
  test(`a range is selected ${what}`, async t => {
    const mails = heldMails(12);
    const app = {client: createMailApi(mails.filter(mail => mail !== mails[left ?? -1])), now: Date.now};
    const screen = createStore(afterScreenEvent, initialScreen);
    const quarantine = {state: createStore(listReducer, initialList), screen} as unknown as QuarantineContext;
    const shell = {...createFakeShell(), app} as unknown as Shell;

    markRange(shell, quarantine, mails[8] ?? heldMail(8));
    markRange(shell, quarantine, mails[3] ?? heldMail(3));
    await eventually(() => screen.get().picked.size > 0);

    t.deepEqual(
      [...screen.get().picked.keys()],
      [8, 7, 6, 5, 4, 3].filter(n => n !== left).map(n => mailId(heldMail(n))),
    );
  });

test('what is under way is so until it ends', t => {
  const [one = heldMail(0), two = heldMail(1)] = heldMails(2);
  const acting = createActingMails();

  acting.begin('release', [one, two]);
  acting.end([one]);

  t.deepEqual([...acting.get().actions], [[mailId(two), 'release']]);
});

test('mails of which it is not known are asked for again, as nothing is done twice', async t => {
  const {result, asked} = await act(150, (items, request) => {
    if (request === 2) throw new CliError('outcome_unknown', 'no answer', {retryAfterSeconds: 0});
    return items.map(({queue_id}) => outcome(queue_id));
  });

  t.deepEqual(
    asked.map(items => items.length),
    [100, 50, 50],
  );
  t.is(resultText('release', result), '150 mails released');
});

test('what was done before and what failed is counted separately, with the reasons', async t => {
  const {result} = await act(3, ([one, two, three]) => [
    outcome(one?.queue_id ?? ''),
    {...outcome(two?.queue_id ?? ''), already: true},
    {...three, error: {code: 'delivery_failed', detail: 'no', fields: [{path: 'a@example.com', detail: '550 no such user'}]}},
  ]);

  t.is(resultText('release', result), '1 mail released, 1 had been released already, 1 failed: a@example.com: 550 no such user');
  t.deepEqual(result.failures, [
    {
      id: 'mx1/mail000002',
      code: 'delivery_failed',
      detail: 'no; a@example.com: 550 no such user',
      reason: 'a@example.com: 550 no such user',
    },
  ]);
});

test('one mail that failed is reported with its reason, and several with the key that shows them', async t => {
  const refusing = (count: number) =>
    act(count, items =>
      items.map(mail => ({
        ...mail,
        error: {
          code: 'delivery_failed',
          detail: 'not delivered',
          fields: [{path: 'a@example.com', detail: '554 5.7.1 not from you'}],
        },
      })),
    );

  t.is(resultText('release', (await refusing(1)).result), 'Not released: a@example.com: 554 5.7.1 not from you');
  t.is(resultText('release', (await refusing(2)).result), '0 mails released, 2 failed (e shows why)');
});

test('when the node goes away in the middle, what was done is reported and the rest is not requested', async t => {
  const {result, asked, dealtWith} = await act(300, (items, request) => {
    if (request === 2) throw new CliError('unreachable', 'nothing listens there', {cause: {code: 'ECONNREFUSED'}});
    return items.map(({queue_id}) => outcome(queue_id));
  });

  t.is(asked.length, 2);
  t.is(dealtWith.length, 100);
  t.is(resultText('release', result), '100 mails released, 200 not processed: nothing listens there');
});

test('a node that asks to wait is asked again', async t => {
  const {result, asked} = await act(5, (items, request) => {
    if (request === 1) throw new CliError('rate_limited', 'too many', {retryAfterSeconds: 0});
    return items.map(({queue_id}) => outcome(queue_id));
  });

  t.is(asked.length, 2);
  t.is(result.done, 5);
});

const after = (...events: ScreenEvent[]) => events.reduce(afterScreenEvent, initialScreen);

test('selecting twice leaves a mail, and selecting nothing leaves them all', t => {
  const [one = heldMail(0), two = heldMail(1)] = heldMails(2);

  t.deepEqual(
    [...after({type: 'toggled', mail: one}, {type: 'toggled', mail: two}, {type: 'toggled', mail: one}).picked.keys()],
    [mailId(two)],
  );
  t.is(after({type: 'toggled', mail: one}, {type: 'dropped'}).picked.size, 0);
});

test('a selection of all that match is that until it is changed', t => {
  const mails = heldMails(3).map(({node_id, queue_id}) => ({node_id, queue_id, from: '', to: '', subject: ''}));
  const whole = after({type: 'picked', mails, whole: 'all held mail'});

  t.is(whole.whole, 'all held mail');
  t.is(afterScreenEvent(whole, {type: 'toggled', mail: heldMail(1)}).whole, undefined);
  t.is(afterScreenEvent(whole, {type: 'picked', mails: mails.slice(1)}).whole, undefined);
  t.is(after({type: 'toggled', mail: heldMail(9)}, {type: 'picked', mails, whole: 'all held mail'}).whole, undefined);
});

const startPreviews = (respond: (path: string) => unknown) => {
  const asked: string[] = [];
  let hear: (event: never) => void = () => undefined;
  const previews = createMailPreviews({
    may: () => false,
    client: fakeClient({
      send: async <T>({path}: Request) => {
        asked.push(path);
        return answer<T>(await respond(path));
      },
      download: async () =>
        (async function* () {
          yield Buffer.from('Subject: x\r\n\r\ntext\r\n');
        })(),
    }),
    live: {
      on: (_types, listener) => {
        hear = listener as typeof hear;
        return () => undefined;
      },
    },
    restMs: 5,
  });
  previews.show();
  return {previews, asked, hear: (event: unknown) => hear(event as never)};
};

test('only the mail on which the cursor rests is read, and not again when it comes back', async t => {
  const {previews, asked} = startPreviews(() => detail);

  for (const mail of heldMails(50)) previews.want(mail);
  await eventually(() => previews.get('mx1/mail000049')?.state === 'ready');
  previews.want(heldMail(1));
  await eventually(() => previews.get('mx1/mail000001')?.state === 'ready');
  previews.want(heldMail(49));
  await new Promise(resolve => setTimeout(resolve, 30));

  t.deepEqual(asked, ['mail/quarantine/mx1/mail000049', 'mail/quarantine/mx1/mail000001']);
});

test('the previews that are kept are few', async t => {
  const {previews} = startPreviews(() => detail);

  for (const mail of heldMails(40)) {
    previews.want(mail);
    await eventually(() => previews.get(mailId(mail))?.state === 'ready');
  }

  t.is(heldMails(40).filter(mail => previews.get(mailId(mail)) !== undefined).length, 30);
});

test('a mail that was released meanwhile says so, read or not', async t => {
  const {previews, hear} = startPreviews(path => {
    if (path.endsWith('1')) throw new CliError('not_found', 'it is not held');
    return detail;
  });
  previews.want(heldMail(0));
  await eventually(() => previews.get('mx1/mail000000')?.state === 'ready');
  hear({type: 'released', ...outcome('mail000000')});
  previews.want(heldMail(1));

  const gone = await eventually(() => previews.get('mx1/mail000001')?.state === 'gone' && previews.get('mx1/mail000001'));
  t.like(previews.get('mx1/mail000000'), {state: 'ready', gone: 'It has been released at 2026-03-01T10:00:00Z by key 7.'});
  t.like(gone, {gone: 'It is not held any more: released, discarded or expired.'});
});

const newFolder = async (t: ExecutionContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfctl-quarantine-'));
  t.teardown(() => rm(folder, {recursive: true}));
  return folder;
};

test('views are kept in a file of their own, with what else is in it', async t => {
  const folder = await newFolder(t);
  const store = createViewStore({env: {XDG_CONFIG_HOME: folder}});

  t.deepEqual(await store.read(), []);
  await store.put({name: 'mine', query: 'since:1h "a: b"', order: 'oldest'});
  const file = join(folder, 'mfctl', 'views.yaml');
  await writeFile(file, `# of the team\n${await readFile(file, 'utf8')}`);
  await store.put({name: 'other', query: '', order: undefined});
  await store.remove('nothing');

  t.deepEqual(await store.read(), [
    {name: 'mine', query: 'since:1h "a: b"', order: 'oldest'},
    {name: 'other', query: '', order: undefined},
  ]);
  t.true((await readFile(file, 'utf8')).startsWith('# of the team'));
  t.is((await stat(file)).mode & 0o777, 0o600);
  await store.remove('mine');
  t.is((await store.read()).length, 1);
});

test('a view in an order that no longer exists still shows its mail', t => {
  t.deepEqual(viewOf({query: 'score>=12', order: 'score'}), {filter: 'score>=12', order: 0});
  t.deepEqual(viewOf({query: 'score>=12', order: 'oldest'}), {filter: 'score>=12', order: 1});
});

test('a file of views that is broken is named and left alone', async t => {
  const folder = await newFolder(t);
  const store = createViewStore({env: {XDG_CONFIG_HOME: folder}});
  await store.put({name: 'mine', query: '', order: undefined});
  const file = join(folder, 'mfctl', 'views.yaml');
  await writeFile(file, 'mine: 5\n');

  const error = await t.throwsAsync(store.put({name: 'other', query: '', order: undefined}));

  t.true(error?.message.includes(file));
  t.is(await readFile(file, 'utf8'), 'mine: 5\n');
});

test('a mail is written to a new file for its owner alone, never over another one', async t => {
  const file = join(await newFolder(t), 'mail.eml');
  async function* body() {
    yield Buffer.from('Subject: x\r\n');
    yield Buffer.from([0xff, 0x00]);
  }

  t.is(await saveMail(async () => body(), file), 14);
  t.deepEqual(await readFile(file), Buffer.concat([Buffer.from('Subject: x\r\n'), Buffer.from([0xff, 0x00])]));
  t.is((await stat(file)).mode & 0o777, 0o600);
  await t.throwsAsync(
    saveMail(async () => body(), file),
    {message: /exists already/},
  );
  t.is((await readFile(file)).length, 14);
});

test('a download that breaks leaves no file', async t => {
  const file = join(await newFolder(t), 'mail.eml');
  async function* body() {
    yield Buffer.from('Subject: x\r\n');
    throw new CliError('unreachable', 'the connection broke');
  }

  await t.throwsAsync(
    saveMail(async () => body(), file),
    {message: /the connection broke/},
  );
  await t.throwsAsync(stat(file), {code: 'ENOENT'});
});

test('where a file cannot be replaced, the error says so and nothing is left beside it', async t => {
  const folder = await newFolder(t);
  const file = join(folder, 'mail.eml');
  await writeFile(file, 'old');
  async function* body() {
    yield Buffer.from('Subject: x\r\n');
    // Meanwhile the name is that of a folder, which a file cannot replace.
    await rm(file);
    await mkdir(file);
  }

  await t.throwsAsync(
    saveMail(async () => body(), file, {isForced: true, hint: 'choose another name'}),
    {instanceOf: CliError, message: /cannot write .*mail\.eml: is a folder/},
  );
  t.deepEqual(await readdir(folder), ['mail.eml']);
});

test('a file with the longest name that there can be is replaced', async t => {
  const file = join(await newFolder(t), `${'m'.repeat(251)}.eml`);
  await writeFile(file, 'old');
  async function* body() {
    yield Buffer.from('new');
  }

  await saveMail(async () => body(), file, {isForced: true});

  t.is(await readFile(file, 'utf8'), 'new');
});
