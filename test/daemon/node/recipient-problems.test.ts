import {setImmediate as turn} from 'node:timers/promises';
import test from 'ava';
import {watchDigests} from '../../../daemon/node/recipient-problems.ts';
import {createDependencies} from '../../../daemon/services/dependencies/dependencies.ts';
import type {StoredDigest} from '../../../daemon/services/records.ts';
import type {Domain} from '../../../shared/domain.ts';

const domain = {id: 1, name: 'one.test'} as Domain;
const other = {id: 2, name: 'two.test'} as Domain;
const daily = {at: '07:00', timezone: 'UTC'} as StoredDigest;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const full = {sent: 0, failure: '452 4.2.2 mailbox full', refusal: undefined};
const blocked = {sent: 0, failure: undefined, refusal: '554 5.7.1 client blocked'};
const nothing = {sent: 0, failure: undefined, refusal: undefined};

/** A node that sends the digests of both domains, at 07:00. */
const start = () => {
  let nowMs = Date.parse('2026-03-02T07:00:00.000Z');
  let isSender = true;
  const now = () => nowMs;
  const dependencies = createDependencies({now, monotonic: now});
  const digests = watchDigests({dependencies, now, sentHere: async () => (isSender ? daily : undefined)});
  const said = async () => {
    await turn();
    return dependencies.problems().map(({name, detail}) => `${name}: ${detail}`);
  };
  return {
    ...digests,
    said,
    stopSending: () => {
      isSender = false;
    },
    /** In steps, as the checks of a node. */
    async pass(ms: number): Promise<string[]> {
      for (const endMs = nowMs + ms; nowMs < endMs; nowMs = Math.min(endMs, nowMs + minuteMs)) {
        dependencies.check();
        await turn();
      }
      dependencies.check();
      return said();
    },
  };
};

test('digests that nobody was sent are a problem, refused or not, until somebody is sent his', async t => {
  for (const report of [full, blocked]) {
    const node = start();
    node.report(domain, report);

    t.deepEqual(await node.said(), [`one.test: ${report.failure ?? report.refusal}`]);
    t.is((await node.pass(hourMs)).length, 1);
    node.report(domain, {...report, sent: 1});
    t.deepEqual(await node.said(), []);
  }
});

test('a full mailbox is no problem of its domain where others were sent theirs, however often it is tried that day', async t => {
  const node = start();
  node.report(domain, {...full, sent: 30});
  const found = await node.said();

  for (let tries = 0; tries < 23; tries += 1) {
    found.push(...(await node.pass(hourMs)));
    node.report(domain, full);
    found.push(...(await node.said()));
  }
  t.deepEqual(found, []);
  t.deepEqual(await node.pass(hourMs), [], 'due again, and not sent yet');

  node.report(domain, full);
  t.deepEqual(await node.said(), ['one.test: 452 4.2.2 mailbox full']);
});

test('a problem ends when nothing waits any more, when another node sends the digests, and after a day', async t => {
  const [empty, moved, old] = [start(), start(), start()];
  for (const node of [empty, moved, old]) {
    node.report(domain, blocked);
    t.is((await node.said()).length, 1);
  }
  empty.report(domain, nothing);
  moved.stopSending();

  t.deepEqual(await empty.said(), []);
  t.deepEqual(await empty.pass(2 * minuteMs), []);
  t.deepEqual(await moved.pass(2 * minuteMs), []);
  t.is((await old.pass(24 * hourMs)).length, 1);
  t.deepEqual(await old.pass(2 * hourMs), []);
});

test('an error of the node is a problem for about an hour, whatever other domains are sent meanwhile', async t => {
  const node = start();
  node.erred();
  node.report(other, {...nothing, sent: 1});

  t.deepEqual(await node.said(), [': an error of this node; its log says why']);
  t.is((await node.pass(hourMs)).length, 1);
  node.erred();
  t.is((await node.pass(hourMs)).length, 1, 'it came again');
  t.deepEqual(await node.pass(10 * minuteMs), []);
});
