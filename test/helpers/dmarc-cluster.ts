// Nodes that count and report, in one process: real stores, a clock that the test sets, and lines between the nodes that it cuts.

import type {Batch, NodeCount, StoredReport} from '../../daemon/services/dmarc/dmarc-store.ts';
import {fromGiven, givenBatchSchema, toGiven} from '../../daemon/services/dmarc/peer-dmarc-protocol.ts';
import {createReportSender, type Delivery} from '../../daemon/services/dmarc/reporter.ts';
import {Fault} from '../../shared/fault.ts';
import {mailCount} from './dmarc.ts';
import {type Teardown, type TestStore, testStore} from './store.ts';

/** `refuses`: it sends no reports. `answers get lost`: requests come through all the same. */
type Line = 'works' | 'is down' | 'refuses' | 'answers get lost' | 'is removed';

interface SentReport {
  by: number;
  id: string;
  address: string;
  xml: string;
}

/** `noon` of the day after the one that is counted: all reports are due. */
const noon = Date.parse('2026-03-02T12:00:00Z');

export const startDmarcCluster = async (t: Teardown, nodeNos: readonly number[] = [1, 2, 3]) => {
  const clock = {ms: noon};
  const sent: SentReport[] = [];
  const lines = new Map<number, Line>();
  const lineTo = (no: number): Line => lines.get(no) ?? 'works';
  const shared = {
    answer: async (_address: string): Promise<Delivery> => ({state: 'sent', detail: '250 Ok'}),
    wants: async (address: string): Promise<string | undefined> => address,
    /** Called after a delivery, before it is written down. */
    afterDelivery: async (_by: number): Promise<void> => {},
    /** Called before a node writes down that another one has got its counts. */
    onConfirm: async (): Promise<void> => {},
  };
  const ended: StoredReport[] = [];
  const lost: Batch[] = [];
  const stores = new Map(
    await Promise.all(nodeNos.map(async no => [no, (await testStore(t, {isDurable: false})).store] as const)),
  );
  const storeOf = (no: number) => {
    const store = stores.get(no);
    if (!store) throw new Error(`no node ${no}`);
    return store;
  };

  const handOver =
    (from: number) =>
    async (batch: Batch, counts: readonly NodeCount[]): Promise<void> => {
      const line = lineTo(batch.holder);
      if (line === 'is down' || lineTo(from) === 'is down') throw new Fault('node_unreachable', 'down');
      if (line === 'is removed') throw new Fault('not_found', 'no such node');
      if (line === 'refuses') throw new Fault('conflict', 'no reports here');
      const given = givenBatchSchema.parse(JSON.parse(JSON.stringify(toGiven(batch, counts))));
      const taken = fromGiven(given, from);
      await storeOf(batch.holder).transaction(async tx =>
        tx.dmarc.take({...batch, held_at: new Date(clock.ms).toISOString()}, taken),
      );
      if (line === 'answers get lost') throw new Fault('outcome_unknown', 'lost');
    };

  /** As after a start: what was in memory is gone. A node that dies during a delivery writes nothing more. */
  const start = (no: number) => {
    let isDead = false;
    const store = storeOf(no);
    const mortal: Pick<TestStore, 'dmarc' | 'transaction'> = {
      dmarc: store.dmarc,
      async transaction(work) {
        if (isDead) throw new Error('killed');
        return store.transaction(async tx => {
          const confirm: typeof tx.dmarc.confirm = async (...of) => {
            await shared.onConfirm();
            await tx.dmarc.confirm(...of);
          };
          return work({...tx, dmarc: {...tx.dmarc, confirm}});
        });
      },
    };
    return createReportSender({
      store: mortal,
      nodeNo: no,
      reporter: {from: 'reports@example.com', organisation: 'Example', contact: undefined, generator: 'mfd test'},
      delayMs: 3_600_000,
      gathering: {
        origin: no,
        candidates: () => nodeNos.filter(one => one === no || lineTo(one) !== 'is down'),
        handOver: handOver(no),
      },
      transport: {
        destinationOf: async address => shared.wants(address),
        async deliver({id}, address, xml) {
          const delivery = await shared.answer(address);
          if (delivery.state === 'sent') sent.push({by: no, id, address, xml});
          await shared.afterDelivery(no).catch(error => {
            isDead = true;
            throw error;
          });
          return delivery;
        },
      },
      now: () => clock.ms,
      onEnded: report => void ended.push(report),
      onLost: batch => void lost.push(batch),
    });
  };
  const runOn = async (no: number): Promise<void> => {
    await senders.get(no)?.gather();
    await senders.get(no)?.send();
  };
  let senders = new Map(nodeNos.map(no => [no, start(no)]));

  return {
    ...{clock, sent, lines, shared, ended, lost, storeOf},
    count: async (no: number, count: number, fields: Parameters<typeof mailCount>[1] = {}) =>
      storeOf(no).transaction(async tx => tx.dmarc.add([mailCount(count, fields)], no)),
    restart(no: number) {
      senders = new Map([...senders, [no, start(no)]]);
    },
    run: runOn,
    /** All nodes do their work a few times, and time goes on. */
    async settle(rounds = 3) {
      for (let round = 0; round < rounds; round += 1) {
        for (const no of nodeNos) if (lineTo(no) !== 'is down') await runOn(no);
        clock.ms += 60_000;
      }
    },
    /** The number of mails in all reports, each id once, as a receiver counts them. */
    reported: () =>
      [...new Map(sent.map(report => [report.id, report.xml])).values()]
        .flatMap(xml => [...xml.matchAll(/<count>(\d+)<\/count>/g)])
        .reduce((sum, [, count]) => sum + Number(count), 0),
    ids: () => [...new Set(sent.map(({id}) => id))],
  };
};
