// Mail of a lost node, recovered from the files of its spool as described in docs/cluster.md.
import {execFile} from 'node:child_process';
import {copyFile, readdir} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';

const shell = async (line: string) => (await promisify(execFile)('sh', ['-c', line])).stdout;

test('held mail of a removed node is that of the node that gets its files, once restarted, and its files can be read without any', async t => {
  const {nodes, sink, converged} = await startCluster(t, {nodes: ['alpha', 'beta'] as const, isProxied: false});
  const {alpha, beta} = nodes;
  const {name} = await alpha.createDomain();
  await converged();
  const {queue_id} = await beta.hold({to: [`ben@${name}`, `cy@${name}`], subject: 'rescued'});
  await alpha.api('DELETE', `cluster/nodes/${beta.node_id}`);
  await beta.stop();
  const [from, to] = [beta, alpha].map(({data}) => join(data, 'spool', 'held')) as [string, string];
  const file = join(from, queue_id);

  t.deepEqual(await readdir(from), [queue_id]);
  t.like(JSON.parse(await shell(`sed -n 2p ${file}`)), {
    sender: 'sender@outside.test',
    recipients: [`ben@${name}`, `cy@${name}`],
  });
  t.regex(await shell(`tail -n +3 ${file} | head -c -72`), /^Received: from .*\r\nSubject: rescued\r\n.*\r\nbody\r\n$/s);
  await copyFile(file, join(to, queue_id));
  await alpha.stop();
  await alpha.start();

  const {json} = await alpha.api('GET', `mail/quarantine?domain=${name}`);
  t.like(json.data, [{node_id: 'alpha', queue_id, subject: 'rescued'}]);
  const released = await alpha.api('POST', `mail/quarantine/alpha/${queue_id}/release`);
  t.is(released.json.data.state, 'released');
  t.deepEqual(
    sink.mails.map(({recipients}) => recipients),
    [[`ben@${name}`, `cy@${name}`]],
  );
});
