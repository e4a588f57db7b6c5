import test from 'ava';
import {createConfiguration} from '../../../../daemon/replication/configuration.ts';
import {createDomainDirectory} from '../../../../daemon/services/domains/domain-directory.ts';
import {createDomains} from '../../../../daemon/services/domains/domains.ts';
import type {NodeStore} from '../../../../daemon/services/node-store.ts';
import {operator} from '../../../helpers/hold-queue.ts';
import {testStore} from '../../../helpers/store.ts';

/** `ports` with a note of each call that reads or writes something; a list of nothing is not asked for. */
const noting = <P extends object>(ports: P, seen: string[]): P =>
  Object.fromEntries(
    Object.entries(ports).map(([name, call]) => [
      name,
      async (...args: unknown[]) => {
        if (args.every(arg => !Array.isArray(arg) || arg.length > 0)) seen.push(name);
        return call(...args);
      },
    ]),
  ) as P;

test('a change of a domain reads the domain once, and writes it once', async t => {
  const {store} = await testStore(t);
  const seen: string[] = [];
  const noted: NodeStore = {
    ...store,
    transaction: async work =>
      store.transaction(async tx => work({...tx, records: noting(tx.records, seen), config: noting(tx.config, seen)})),
  };
  const configuration = createConfiguration({store: noted, nodeNo: 1, now: Date.now});
  const directory = await createDomainDirectory(store, configuration);
  const domains = createDomains({configuration, directory, backendFaults: () => [], retentionFaults: () => []});
  const {id} = await domains.create(operator, {name: 'one.test', backend_servers: ['127.0.0.1:25']});

  seen.splice(0);
  const updated = await domains.update(operator, id, {quarantine_threshold: 4}, undefined);
  const changing = seen.splice(0);
  await domains.update(operator, id, {quarantine_threshold: 4}, undefined);

  t.deepEqual(changing, ['findAll', 'save', 'sum', 'writeSum']);
  t.deepEqual(seen, ['findAll']);
  t.deepEqual(updated, await store.config.findDomain(id));
});
