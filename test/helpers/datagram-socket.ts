// A datagram socket in the file system, as service managers use. Node has none; perl does.
import {spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';

export interface DatagramSocket {
  path: string;
  /** Received datagrams, each as text. */
  received(): string[];
}

const listener = `
use IO::Socket::UNIX;
my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die "$ARGV[0]: $!";
$| = 1;
print "listening\\n";
while (defined $socket->recv(my $datagram, 65536)) { print unpack("H*", $datagram), "\\n" }
`;

export const listenForDatagrams = async (owner: Owner): Promise<DatagramSocket> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-notify-'));
  const path = join(folder, 'notify');
  const child = spawn('perl', ['-e', listener, path], {stdio: ['ignore', 'pipe', 'inherit']});
  const gone = new Promise(resolve => child.once('close', resolve));
  owner.teardown(async () => {
    child.kill('SIGKILL');
    await gone;
    await rm(folder, {recursive: true});
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await eventually(() => output.startsWith('listening\n'));
  const lines = () => output.split('\n').slice(1, -1);

  return {path, received: () => lines().map(line => Buffer.from(line, 'hex').toString())};
};
