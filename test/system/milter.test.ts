// The milter of a real node, with a test that plays Postfix: this also runs where Postfix is not installed.
import {connect} from 'node:net';
import {join} from 'node:path';
import test from 'ava';
import {testString} from '../../daemon/mail/content-check.ts';
import {startFirst} from '../helpers/daemon.ts';
import {startMailNode} from '../helpers/mail-node.ts';
import {connectPeer, replyText} from '../helpers/milter.ts';
import {closedPort} from '../helpers/ports.ts';
import {testFolder} from '../helpers/test-folder.ts';

test('a mail is answered for its domain as it is now, and what is held is in the list before the answer', async t => {
  const address = await closedPort();
  const config = {postfix: {milter_listen: `127.0.0.1:${address.port}`, config_dir: await testFolder(t)}};
  const node = await startMailNode(t, {config});
  const peer = await connectPeer(address);
  t.teardown(peer.destroy);
  const mail = {to: ['ben@example.com'], body: `${testString}\r\n`};

  const {answers} = await peer.mail({...mail, queueId: '4jX9jr51JCzJFFG'});
  const held = await node.held();
  await node.updateDomain(node.domainId, {reject_threshold: 9});
  const refused = await peer.mail({...mail, queueId: '4jX9jr51JCzJFFH'});

  t.deepEqual(
    answers.map(({letter}) => letter),
    ['h', 'h', 'q', 'a'],
  );
  t.like(held, [{queue_id: '4jX9jr51JCzJFFG', sender: 'ada@example.net', subject: 'hi', score: 10}]);
  t.is(refused.answers.map(replyText).join(), '550 5.7.1 Message refused: its spam score is too high');
  t.is(await node.stop(), 0);
  await peer.closed;
});

test('the ready line names the milter, whose socket goes with the node', async t => {
  const folder = await testFolder(t);
  const path = join(folder, 'milter.sock');
  const env = {
    ...Object.fromEntries(['API', 'CLUSTER', 'METRICS', 'SMTP'].map(door => [`MFD_${door}_LISTEN`, '127.0.0.1:0'])),
    XDG_CONFIG_HOME: join(folder, 'home'),
    MFD_POSTFIX_MILTER_LISTEN: `unix:${path}`,
    MFD_POSTFIX_CONFIG_DIR: folder,
  };
  const daemon = startFirst(t, join(folder, 'data'), env);

  t.true((await daemon.ready).endsWith(` milter=unix:${path}`));
  const second = startFirst(t, join(folder, 'other'), env);
  t.is(await second.ended, 1);
  t.regex(
    second.stderr(),
    / is in use \(\S+\/mfd\.yaml or MFD_POSTFIX_MILTER_LISTEN\); stop what listens there, or choose another address\n$/,
  );
  const third = startFirst(t, join(folder, 'third'), {...env, MFD_POSTFIX_MILTER_LISTEN: `unix:${folder}/nowhere/milter.sock`});
  t.is(await third.ended, 1);
  t.regex(
    third.stderr(),
    /cannot listen on \S+\/nowhere\/milter\.sock: its folder does not exist, .* mfd setup postfix --apply makes it\n$/,
  );
  daemon.signal('SIGTERM');
  t.is(await daemon.ended, 0);

  const error = await new Promise<NodeJS.ErrnoException>(resolve => connect({path}).once('error', resolve));
  t.is(error.code, 'ENOENT');
});
