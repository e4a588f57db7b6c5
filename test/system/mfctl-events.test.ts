// The event stream of a real node, through the client of mfctl.
import {readFile} from 'node:fs/promises';
import test from 'ava';
import {createClient} from '../../cli/client/client.ts';
import {followEvents} from '../../cli/client/follow-events.ts';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import {heldIds, send, startHoldingNode} from '../helpers/cli/holding-node.ts';
import {eventually} from '../helpers/eventually.ts';

test('a node that is restarted is followed on, and tells of what happens then', async t => {
  const {node} = await startHoldingNode(t);
  const connection = {
    baseUrl: new URL(`${node.api_url}/api/v1/`),
    apiKey: node.api_key,
    ca: await readFile(node.ca_file, 'utf8'),
  };
  const client = await createClient({connection, version: '1', log: () => {}});
  const events: ClusterEvent[] = [];
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  let connections = 0;
  const following = followEvents(client, {
    types: ['held', 'discarded'],
    signal: abort.signal,
    onConnected: () => {
      connections += 1;
    },
    onEvent: event => void events.push(event),
  });

  await eventually(() => connections === 1);
  await send(node, 'Subject: one\r\n\r\ntext\r\n');
  await eventually(() => events.length === 1);
  await node.stop();
  await node.start();
  await eventually(() => connections === 2);
  const [id = ''] = await heldIds(node);
  await node.mfctl(['quarantine', 'discard', id]);
  await eventually(() => events.length === 2);
  abort.abort();
  await following;

  t.like(events[0], {type: 'held', subject: 'one', sender: 'sender@sender.example'});
  t.like(events[1], {type: 'discarded', state: 'discarded'});
});
