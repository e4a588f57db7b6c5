// Environment variables that control a test build, and that a normal build ignores.
import test from 'ava';
import {crashPoint, crashPoints} from '../../daemon/services/crash-point.ts';
import {synchronous} from '../../daemon/store/sqlite/database.ts';
import {eventually} from '../helpers/eventually.ts';
import {holdAll, type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {mfdTestBuildFile} from '../helpers/program.ts';
import {connect} from '../helpers/smtp-client.ts';
import {testStore} from '../helpers/store.ts';

const crash = {FAULT_CRASH_AT: 'held-row.after:3'};

/** Resolves with the number of mails that were answered with 250 before the node ended. */
const sendMails = async (node: MailNode, count: number): Promise<number> => {
  const client = await connect(node.smtpPort);
  let taken = 0;
  try {
    await client.cmd('EHLO client.test');
    for (; taken < count; taken += 1) {
      await client.cmd('MAIL FROM:<ada@example.net>');
      await client.cmd('RCPT TO:<ben@example.com>');
      const {code, text} = await client.data(`Subject: ${taken}\r\n\r\nbody\r\n`);
      if (code !== 250) throw new Error(`${code} ${text}`);
    }
  } catch (error) {
    if (node.isRunning() && !(await eventually(() => !node.isRunning(), 5000).catch(() => false))) throw error;
  } finally {
    client.destroy();
  }
  return taken;
};

test('a node as it is shipped goes past every crash point, whatever its environment says', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await node.stop();
  await node.start({...crash, FAULT_SYNCHRONOUS: 'NORMAL'});

  t.is(await sendMails(node, 30), 30);
  const mails = await node.held();
  for (const [n, mail] of mails.slice(0, 6).entries()) t.is((await node.act(n % 2 ? 'release' : 'discard', mail)).status, 200);
  await node.updateDomain(node.domainId, {tenant_id: 1});

  t.true(node.isRunning());
  t.is(mails.length, 30);
});

test('a node as it is shipped does not even read what it is told to do at crash points', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await node.stop();

  await t.notThrowsAsync(node.start({FAULT_CRASH_AT: 'nonsense', FAULT_SYNCHRONOUS: 'OFF'}));
});

test('a test build ends where it is told to, as often as it was told to pass', async t => {
  const node = await startMailNode(t, {domain: holdAll, program: mfdTestBuildFile});
  t.is(await sendMails(node, 10), 10, 'without being told');
  await node.stop();
  await node.start(crash);

  t.is(await sendMails(node, 10), 2);
  t.is(await node.stop(), 'SIGKILL');
});

test('a test build refuses what it does not know', async t => {
  const node = await startMailNode(t, {domain: holdAll, program: mfdTestBuildFile});
  await node.stop();

  await t.throwsAsync(node.start({FAULT_CRASH_AT: 'nonsense'}), {message: /nonsense is no crash point/});
  await t.throwsAsync(node.start({FAULT_SYNCHRONOUS: 'OFF'}));
});

test('without a build for tests, crash points do nothing and the database waits for the disk', async t => {
  const {store} = await testStore(t);

  for (const point of crashPoints) crashPoint(point);
  t.is(synchronous, 'FULL');
  t.deepEqual(await store.write.raw('PRAGMA synchronous'), [{synchronous: 2}]);
});
