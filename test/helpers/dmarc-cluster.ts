// Nodes that count and report, in one process: real stores, and a clock that the test sets.

import type {StoredReport} from '../../daemon/services/dmarc/dmarc-store.ts';
import {createReportSender, type Delivery} from '../../daemon/services/dmarc/reporter.ts';
import type {Store} from '../../daemon/services/ports.ts';
import {mailCount} from './dmarc.ts';
import {type Teardown, testStore} from './store.ts';

type DmarcStoreOf = Pick<Store, 'dmarc' | 'transaction'>;

interface SentReport {
  by: number;
  id: string;
  address: string;
  xml: string;
}

interface Options {
  nodeNos?: readonly number[];
  /** The store of all nodes; without it each has one of its own. */
  common?: DmarcStoreOf;
}

/** `noon` of the day after the one that is counted: all reports are due. */
const noon = Date.parse('2026-03-02T12:00:00Z');

/** The number of mails in a report. */
export const mailsIn = (xml: string): number =>
  [...xml.matchAll(/<count>(\d+)<\/count>/g)].reduce((sum, [, count]) => sum + Number(count), 0);

export const startDmarcCluster = async (t: Teardown, {nodeNos = [1, 2, 3], common}: Options = {}) => {
  const clock = {ms: noon};
  const sent: SentReport[] = [];
  /** Nodes that do nothing for now. */
  const away = new Set<number>();
  const shared = {
    answer: async (_address: string): Promise<Delivery> => ({state: 'sent', detail: '250 Ok'}),
    wants: async (address: string): Promise<string | undefined> => address,
    /** Called after a delivery, before it is written down. */
    afterDelivery: async (_by: number): Promise<void> => {},
  };
  const ended: StoredReport[] = [];
  const stores = new Map<number, DmarcStoreOf>(
    await Promise.all(nodeNos.map(async no => [no, common ?? (await testStore(t, {isDurable: false})).store] as const)),
  );
  const storeOf = (no: number) => {
    const store = stores.get(no);
    if (!store) throw new Error(`no node ${no}`);
    return store;
  };

  /** As after a start: what was in memory is gone. A node that dies during a delivery writes nothing more. */
  const start = (no: number) => {
    let isDead = false;
    const store = storeOf(no);
    const mortal: DmarcStoreOf = {
      dmarc: store.dmarc,
      async transaction(work) {
        if (isDead) throw new Error('killed');
        return store.transaction(work);
      },
    };
    return createReportSender({
      store: mortal,
      nodeNo: no,
      reporter: () => ({from: 'reports@example.com', organisation: 'Example', contact: undefined, generator: 'mfd test'}),
      delayMs: () => 3_600_000,
      ...(common && {living: () => nodeNos.filter(one => !away.has(one))}),
      transport: {
        destinationOf: async address => shared.wants(address),
        async deliver({id}, address, {xml}) {
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
    });
  };
  const runOn = async (no: number): Promise<void> => {
    await senders.get(no)?.make();
    await senders.get(no)?.send();
  };
  let senders = new Map(nodeNos.map(no => [no, start(no)]));

  return {
    ...{clock, sent, away, shared, ended, storeOf},
    count: async (no: number, count: number, fields: Parameters<typeof mailCount>[1] = {}) =>
      storeOf(no).transaction(async tx => tx.dmarc.add([mailCount(count, fields)], no)),
    restart(no: number) {
      senders = new Map([...senders, [no, start(no)]]);
    },
    run: runOn,
    /** All nodes do their work a few times, and time goes on. */
    async settle(rounds = 3) {
      for (let round = 0; round < rounds; round += 1) {
        for (const no of nodeNos) if (!away.has(no)) await runOn(no);
        clock.ms += 60_000;
      }
    },
    /** The number of mails in all reports, each id once, as a receiver counts them. */
    reported: () =>
      [...new Map(sent.map(report => [report.id, report.xml])).values()].reduce((sum, xml) => sum + mailsIn(xml), 0),
    ids: () => [...new Set(sent.map(({id}) => id))],
  };
};
