import test from 'ava';
import type {MailCount} from '../../../../daemon/services/dmarc/counted-mail.ts';
import {createDmarcCounter} from '../../../../daemon/services/dmarc/dmarc-counter.ts';
import type {Store} from '../../../../daemon/services/ports.ts';
import {Fault} from '../../../../shared/fault.ts';
import {policyOf, received} from '../../../helpers/dmarc.ts';

/** A counter over a store that notes what it is given, or fails. */
const start = () => {
  const stored: MailCount[] = [];
  const state = {uncounted: 0, failure: undefined as Fault | undefined};
  const add = async (counts: readonly MailCount[]) => void stored.push(...counts);
  const store = {
    async transaction(work: (tx: unknown) => Promise<unknown>) {
      if (state.failure) throw state.failure;
      return work({dmarc: {add}});
    },
  } as unknown as Pick<Store, 'transaction'>;
  const counter = createDmarcCounter({
    store,
    nodeNo: 1,
    reportAddresses: () => ['DMARC@example.org'],
    onUncounted() {
      state.uncounted += 1;
    },
  });
  return {...counter, stored, state, total: () => stored.reduce((sum, {count}) => sum + count, 0)};
};

test('equal mails are one count, and neither mail about reports nor that of other domains is counted', async t => {
  const {count, flush, stored} = start();
  count(received());
  count(received());
  count(received({ip: '192.0.2.6'}));
  count(received({recipients: ['a@example.com', 'dmarc@EXAMPLE.org']}));
  count(received({domain: {dmarc_reporting: false}}));

  await flush();
  await flush();

  t.deepEqual(
    stored.map(({source_ip, count: mails}) => [source_ip, mails]),
    [
      ['192.0.2.5', 2],
      ['192.0.2.6', 1],
    ],
  );
});

test('what could not be stored is stored later, but not what may have been', async t => {
  const {count, flush, state, total} = start();
  count(received());
  state.failure = new Fault('unavailable', 'full');
  await t.throwsAsync(flush());
  state.failure = undefined;
  await flush();
  const first = total();
  count(received());
  state.failure = new Fault('outcome_unknown', 'lost');
  await t.throwsAsync(flush());
  state.failure = undefined;
  await flush();

  t.deepEqual([first, total()], [1, 1]);
});

test('one policy domain has no more kinds of mail than fit into a report, and leaves some to others', async t => {
  const {count, flush, state, total} = start();
  const send = (n: number, domain: string) =>
    count(received({ip: `10.0.${Math.floor(n / 250)}.${n % 250}`, dmarc: {published: policyOf(domain)}}));
  for (let n = 0; n < 5010; n += 1) send(n, 'noisy.test');
  send(0, 'noisy.test');
  send(0, 'bank.test');

  await flush();

  t.is(state.uncounted, 10);
  t.is(total(), 5002);
});

test('a clock that was ahead once takes nothing from the days that come', async t => {
  const {count, flush, state, stored} = start();
  count(received({at: '2030-01-01T00:00:00Z'}));
  for (let n = 0; n < 5000; n += 1) count(received({ip: `10.0.${Math.floor(n / 250)}.${n % 250}`, at: '2026-03-01T23:59:59Z'}));
  count(received({at: '2026-03-02T00:00:00Z'}));
  count(received({at: '2026-03-01T23:59:59Z', ip: '192.0.2.99'}));

  await flush();

  t.is(state.uncounted, 1, 'of the day that is full');
  t.true(stored.some(({day}) => day === '2026-03-02'));
});
