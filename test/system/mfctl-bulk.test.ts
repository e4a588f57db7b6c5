// Release and discard by filter: the built program against a built node that holds a few hundred mails.
import test, {type ExecutionContext} from 'ava';
import type {BulkResult} from '../../shared/held-mail.ts';
import {holdAll, startMailNode} from '../helpers/mail-node.ts';
import type {TestNode} from '../helpers/node.ts';
import {connect} from '../helpers/smtp-client.ts';

const startFullNode = async (t: ExecutionContext, count: number) => {
  const node = await startMailNode(t, {domain: holdAll});
  const {sink} = node;
  const client = await connect(node.smtpPort);
  t.teardown(client.destroy);
  await client.cmd('EHLO test');
  for (let at = 0; at < count; at += 1) {
    await client.cmd('MAIL FROM:<sender@sender.example>');
    await client.cmd(`RCPT TO:<${at === 123 ? 'odd' : 'a'}@example.com>`);
    const {code} = await client.data(`Subject: ${at % 3 === 0 ? 'keep' : 'offer'} ${at}\r\n\r\ntext\r\n`);
    if (code !== 250) throw new Error(`not held: ${code}`);
  }
  return {node, sink};
};

const heldCount = async (node: TestNode, ...filter: string[]): Promise<number> =>
  JSON.parse((await node.mfctl(['quarantine', 'summary', '-o', 'json', ...filter])).stdout).count;

const parsed = (text: string): BulkResult[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));

test('all that matches is released but one that its server refuses, and the rest stays', async t => {
  const {node, sink} = await startFullNode(t, 450);
  sink.behave({recipients: {'odd@example.com': {code: 550, text: '5.1.1 no such user'}}});
  const filter = ['--all-matching', '--domain', 'example.com'];

  const dry = await node.mfctl(['quarantine', 'release', ...filter, '--dry-run', '-o', 'name']);
  const wrong = await node.mfctl(['quarantine', 'release', ...filter, '--expect-count', '449', '--yes']);
  const untouched = await heldCount(node);
  const released = await node.mfctl(['quarantine', 'release', ...filter, '--expect-count', '450', '--yes', '-o', 'ndjson']);
  const results = parsed(released.stdout);

  t.is(dry.stdout.trimEnd().split('\n').length, 450);
  t.deepEqual([wrong.code, untouched], [1, 450]);
  t.is(released.code, 6);
  t.is(results.length, 450);
  const failed = results.filter(result => 'error' in result);
  t.deepEqual(
    failed.map(({error}) => error.code),
    ['delivery_failed'],
  );
  t.is(sink.mails.length, 449);
  t.is(await heldCount(node), 1);
});

test('Ctrl-C ends it after what is under way, and tells what was done', async t => {
  const {node, sink} = await startFullNode(t, 450);
  sink.behave({delayMs: 20});

  const {code, stdout, stderr} = await node.mfctl(['quarantine', 'release', '--all-matching', '--yes', '-v', '-o', 'ndjson'], {
    onStart: child => {
      let said = '';
      child.stderr?.on('data', (chunk: string) => {
        const isFirst = !said.includes('POST ');
        said += chunk;
        if (isFirst && said.includes('POST ')) child.kill('SIGINT');
      });
    },
  });

  const done = parsed(stdout).length;
  t.is(code, 130);
  t.regex(stderr, new RegExp(`"detail":"${done} of 450 mails were released"`));
  t.true(done >= 100 && done < 450, String(done));
  t.is(await heldCount(node), 450 - done);
  t.is(sink.mails.length, done);
});
