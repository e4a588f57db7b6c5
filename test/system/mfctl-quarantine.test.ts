// The quarantine with mfctl: the built program against a built node.
import test from 'ava';
import {heldIds, send} from '../helpers/cli/sent-mail.ts';
import {holdAll, startMailNode} from '../helpers/mail-node.ts';

test.serial('a first session: a domain, a mail, a look at it, its release', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await send(node, 'Subject: =?utf-8?Q?caf=C3=A9?=\r\nX-One: 1\r\n\r\nHello there\r\n');

  const list = await node.mfctl(['quarantine', 'list', '--domain', 'example.com', '--since', '1h']);
  const [id = ''] = await heldIds(node);
  const show = await node.mfctl(['quarantine', 'show', id]);
  const body = await node.mfctl(['quarantine', 'body', id]);
  const summary = await node.mfctl(['quarantine', 'summary', '-o', 'json']);
  const released = await node.mfctl(['quarantine', 'release', id]);
  const again = await node.mfctl(['quarantine', 'release', id, '-o', 'json']);
  const opposite = await node.mfctl(['quarantine', 'discard', id]);
  const audit = await node.mfctl(['audit', '--action', 'quarantine.release']);

  t.regex(list.stdout, /café/);
  t.regex(show.stdout, /\n {2}Subject: café\n {2}X-One: 1\n/);
  t.regex(show.stdout, /\nText:\n {2}Hello there\n/);
  t.true(body.stdout.endsWith('X-One: 1\r\n\r\nHello there\r\n'));
  t.like(JSON.parse(summary.stdout), {count: 1});
  t.regex(released.stdout, /released/);
  t.is(node.sink.mails.length, 1);
  t.like(JSON.parse(again.stdout), {state: 'released', already: true});
  t.is(opposite.code, 1);
  t.regex(opposite.stderr, /\(conflict, request /);
  t.true(audit.stdout.includes(id));
});

test.serial('many ids from a list are discarded, and those that are not there exit 6', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  for (const subject of ['one', 'two', 'three']) await send(node, `Subject: ${subject}\r\n\r\ntext\r\n`);
  const {stdout: list} = await node.mfctl(['quarantine', 'list']);
  const [first = ''] = await heldIds(node);
  const absent = `${node.node_id}/zzzzzzzzzz`;

  const partly = await node.mfctl(['quarantine', 'discard', first, absent]);
  const all = await node.mfctl(['quarantine', 'discard', '-', '-o', 'ndjson'], {input: list});
  const alone = await node.mfctl(['quarantine', 'discard', absent]);
  const elsewhere = await node.mfctl(['quarantine', 'discard', 'nosuchnode/zzzzzzzzzz']);

  t.is(partly.code, 6);
  t.true(partly.stdout.includes(first) && !partly.stdout.includes(absent));
  t.regex(partly.stderr, new RegExp(`warning: ${absent}: .*\\(not_found\\)\nerror: 1 of 2 mails could not be discarded`));
  t.is(all.code, 0);
  t.deepEqual(
    all.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).state),
    ['discarded', 'discarded', 'discarded'],
  );
  t.deepEqual([alone.code, elsewhere.code], [5, 5]);
  t.deepEqual(await heldIds(node), []);
});

test.serial('a domain and a node that do not exist are told of, and a key that may not look is told nothing', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await send(node, 'Subject: one\r\n\r\ntext\r\n');
  const made = await node.mfctl(['key', 'create', '--name', 'desk', '--scope', 'quarantine-only', '-q']);
  const release = ['quarantine', 'release', '--all-matching', '--yes'];

  const domain = await node.mfctl([...release, '--domain', 'exmaple.com']);
  const other = await node.mfctl([...release, '--node', 'mx9']);
  const unseen = await node.mfctl([...release, '--node', 'mx9'], {env: {MFCTL_API_KEY: made.stdout.trim()}});

  t.deepEqual([domain.code, other.code, unseen.code], [0, 5, 0]);
  t.is(
    domain.stderr,
    'warning: there is no domain exmaple.com; mfctl domain list shows the domains\nno held mail matches --domain exmaple.com\n',
  );
  t.regex(other.stderr, /error: there is no node mx9 \(unknown_node\)/);
  t.is(unseen.stderr, 'no held mail matches --node mx9\n');
  t.is((await heldIds(node)).length, 1);
});
