import {spawn} from 'node:child_process';
import {mkdtemp, rm, stat} from 'node:fs/promises';
import {connect, createServer, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {formatLocalAddress, listenLocal, parseLocalAddress} from '../../../daemon/mail/local-listener.ts';

const folder = async (t: ExecutionContext): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'mfd-local-'));
  t.teardown(async () => rm(path, {recursive: true}));
  return path;
};

const isAnswered = async (address: {path: string} | {port: number}): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(address, () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

test('an address is a unix socket by its absolute path, or a host and a port', t => {
  t.deepEqual(parseLocalAddress('unix:/run/mfd/milter.sock'), {path: '/run/mfd/milter.sock'});
  t.deepEqual(parseLocalAddress('127.0.0.1:0'), {host: '127.0.0.1', port: 0});
  t.is(formatLocalAddress({host: '::1', port: 11}), '[::1]:11');
  for (const wrong of ['unix:', 'unix:milter.sock', `unix:/${'x'.repeat(107)}`, 'local', '/run/milter.sock'])
    t.is(parseLocalAddress(wrong), undefined, wrong);
});

test('a unix socket is for its owner and group, and what a dead process left is taken over', async t => {
  const path = join(await folder(t), 'milter.sock');
  const hang = createServer();
  await new Promise<void>(resolve => hang.listen(path, resolve));

  await t.throwsAsync(
    listenLocal({path}, () => undefined),
    {code: 'EADDRINUSE'},
  );
  // Closing removes the file; a killed process leaves it.
  const script = `require('net').createServer().listen('${path}2', () => process.kill(process.pid, 'SIGKILL'))`;
  const child = spawn(process.execPath, ['-e', script]);
  await new Promise(resolve => child.once('exit', resolve));
  const listener = await listenLocal({path: `${path}2`}, (socket: Socket) => socket.destroy());

  t.is((await stat(`${path}2`)).mode & 0o777, 0o660);
  t.true(await isAnswered({path: `${path}2`}));
  await listener.stop();
  await new Promise(resolve => hang.close(resolve));
});

test('port 0 becomes the one that is listened on', async t => {
  const listener = await listenLocal({host: '127.0.0.1', port: 0}, socket => socket.destroy());

  t.true('port' in listener.address && (await isAnswered({port: listener.address.port})));
  await listener.stop();
});
