import test from 'ava';
import {openPostfix} from '../../../daemon/node/postfix.ts';
import {createDependencies} from '../../../daemon/services/dependencies/dependencies.ts';
import {testQueue} from '../../helpers/hold-queue.ts';

test('with the clock put back Postfix’s queue is looked at as before, once at a time', async t => {
  const mails = await testQueue(t);
  let failures = 0;
  const dependencies = createDependencies({now: () => mails.now, monotonic: () => mails.now});
  const base = {
    config: {postfix: {config_dir: '/nonexistent', reconcile_interval: 10}},
    storage: {nodeId: 'alpha', store: mails.store, spool: mails.spool},
    records: {domainDirectory: {findByName: () => undefined}},
    log: {debug() {}, info() {}, warn() {}, error() {}},
    metrics: {
      postfixFailed() {
        failures += 1;
      },
    },
    dependencies,
    // Each poll takes one second.
    now() {
      mails.now += 500;
      return mails.now;
    },
  } as unknown as Parameters<typeof openPostfix>[0];
  const postfix = openPostfix(base, () => {});
  const poll = postfix?.createPoll(mails.queue);
  await poll?.run();

  mails.now -= 3_600_000;
  await Promise.all([poll?.run(), poll?.run()]);

  t.is(failures, 2);
  t.is(dependencies.problems()[0]?.part, 'postfix');
});
