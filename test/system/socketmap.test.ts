// The lookup tables of a node, queried like Postfix does, without a Postfix.
import {connect} from 'node:net';
import test, {type ExecutionContext} from 'ava';
import {createNetstringReader, netstring} from '../../daemon/mail/socketmap/socketmap-server.ts';
import {formatHostPort} from '../../shared/host-port.ts';
import {startDaemon} from '../helpers/daemon.ts';
import {startMailNode} from '../helpers/mail-node.ts';
import {addToConfig} from '../helpers/node.ts';

/** One lookup on a connection of its own. */
const lookUp = async (port: number, table: string, key: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = createNetstringReader(100_000);
    const socket = connect({port, host: '127.0.0.1'}, () => socket.write(netstring(`${table} ${key}`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed')));
    socket.on('data', chunk => {
      for (const reply of reader.push(chunk)) resolve(String(reply));
      socket.destroy();
    });
  });

const start = async (t: ExecutionContext) => {
  const node = await startMailNode(t);
  await node.stop();
  await addToConfig(node.data, {postfix: {socketmap_listen: '127.0.0.1:0'}});
  const daemon = startDaemon(t, node.data);
  const line = await daemon.ready;
  return {node, daemon, port: Number(/ socketmap=127\.0\.0\.1:(\d+)$/.exec(line)?.[1])};
};

test('the ready line names the address, and a change of a domain is in the next answer', async t => {
  const {node, port} = await start(t);
  const server = formatHostPort(node.sink.server).replace('127.0.0.1', '[127.0.0.1]');

  t.is(await lookUp(port, 'relay_domains', 'example.com'), 'OK example.com');
  t.is(await lookUp(port, 'transport_maps', 'ben@example.com'), `OK relay:${server}`);
  await node.updateDomain(node.domainId, {active: false});
  t.regex(await lookUp(port, 'transport_maps', 'ben@example.com'), /^OK retry:4\.7\.1 /);
  await node.updateDomain(node.domainId, {direction: 'outbound'});
  t.is(await lookUp(port, 'relay_domains', 'example.com'), 'NOTFOUND ');
});

test('a node with lookup tables stops when it is told to, while Postfix is connected', async t => {
  const {daemon, port} = await start(t);
  const socket = connect({port, host: '127.0.0.1'});
  const closed = new Promise(resolve => socket.once('close', resolve));
  socket.on('error', () => undefined);
  await new Promise(resolve => socket.once('connect', resolve));

  daemon.signal('SIGTERM');

  await closed;
  t.is(await daemon.ended, 0);
});
