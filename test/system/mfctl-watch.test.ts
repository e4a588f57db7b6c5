// Watch commands as people run them: the built program against a built node.
import type {ChildProcess} from 'node:child_process';
import test from 'ava';
import {heldIds, send} from '../helpers/cli/sent-mail.ts';
import {eventually} from '../helpers/eventually.ts';
import {holdAll, startMailNode} from '../helpers/mail-node.ts';
import type {TestNode} from '../helpers/node.ts';

/** Runs a command until it is stopped, and returns its output so far. */
const startMfctl = (node: TestNode, args: string[]) => {
  let text = '';
  let said = '';
  let child: ChildProcess | undefined;
  const ended = node.mfctl(args, {
    onStart: started => {
      child = started;
      started.stderr?.on('data', (chunk: string) => {
        said += chunk;
      });
      started.stdout?.on('data', (chunk: string) => {
        text += chunk;
      });
    },
  });
  return {
    ended,
    said: () => said,
    count: () => text.split('\n').length - 1,
    interrupt: () => void child?.kill('SIGINT'),
    lines: async (count: number): Promise<Record<string, unknown>[]> =>
      eventually(() => {
        const lines = text.split('\n').slice(0, -1);
        return lines.length >= count && lines.map(line => JSON.parse(line));
      }),
  };
};

test('quarantine watch sees mail arrive and be released, and passes over what the filter leaves out', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await send(node, 'Subject: wanted before\r\n\r\ntext\r\n');
  const watch = startMfctl(node, ['quarantine', 'watch', '--subject', 'wanted']);
  await watch.lines(1);

  await send(node, 'Subject: other\r\n\r\ntext\r\n');
  await send(node, 'Subject: wanted now\r\n\r\ntext\r\n');
  await watch.lines(2);
  const ids = await heldIds(node);
  for (const id of ids.slice(0, 2)) await node.mfctl(['quarantine', 'release', id]);
  const lines = await watch.lines(3);
  watch.interrupt();
  const {code, stderr} = await watch.ended;

  t.deepEqual(
    lines.map(({type, subject, queue_id}) => [type, subject, queue_id]),
    [
      ['held', 'wanted before', ids[2]?.split('/')[1]],
      ['held', 'wanted now', ids[0]?.split('/')[1]],
      ['released', undefined, ids[0]?.split('/')[1]],
    ],
  );
  t.is(lines[2]?.acted_by_key_id, JSON.parse((await node.mfctl(['whoami', '-o', 'json'])).stdout).id);
  t.deepEqual([code, stderr], [130, '']);
});

test('cluster watch tells of a changed configuration, and outlives the node it asks', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  const watch = startMfctl(node, ['cluster', 'watch', '--interval', '1s']);
  await watch.lines(1);

  await node.mfctl(['domain', 'update', 'example.com', '--quarantine-threshold', '-7']);
  await watch.lines(2);
  await node.stop();
  await eventually(() => watch.said().includes('no answer since'));
  await node.start();
  await eventually(() => watch.said().includes('answers again'));
  await node.mfctl(['domain', 'update', 'example.com', '--quarantine-threshold', '-8']);
  const [seen, changed] = await watch.lines(3);
  watch.interrupt();

  t.like(seen, {node_id: node.node_id, healthy: 'online', drift: 'none', changed: ['seen']});
  t.like(changed, {changed: ['config']});
  t.not(changed?.config_hash, seen?.config_hash);
  t.is((await watch.ended).code, 130);
});
