// Implementation of the store ports with SQLite: one database file for one node.
import type {NodeStore, NodeTransaction} from '../../services/node-store.ts';
import {auditStore} from '../sql/audit.ts';
import {configReads, recordStore} from '../sql/config-record.ts';
import type {Db} from '../sql/db.ts';
import {holdStore, postfixRows} from '../sql/hold-store.ts';
import {keyUseStore, sequenceStore, stateStore} from '../sql/local-state.ts';
import {appliedStore, outboxStore} from '../sql/outbox.ts';
import {trustStore} from '../sql/trust.ts';
import {type Database, openDatabase} from './database.ts';
import {createHeldQuery} from './held-query.ts';
import {findDamage} from './integrity.ts';
import {asDb} from './query.ts';
import {spoolRows} from './spooled-mail.ts';

export const createSqliteStore = (database: Database): NodeStore => {
  // Transactions run one after the other on one connection, so they share their ports.
  const writer = portsOn(database.write);
  return {
    ...portsOn(database.read),
    transaction: async work => database.transaction(async () => work(writer)),
    atOneMoment: async read => database.read.transaction(async tx => read(portsOn(asDb(tx)))),
    damage: database.damage,
    findDamage: async () => findDamage(database),
    heldQuery: nodeId => createHeldQuery(database.read, nodeId),
    close: database.close,
  };
};

/** Opens the store, and creates or migrates the database where needed. */
export const openSqliteStore = async (filename: string): Promise<NodeStore> => createSqliteStore(await openDatabase(filename));

/** Ports for reading and writing. The types of the store give only transactions the writes; other connections refuse them. */
const portsOn = (db: Db): NodeTransaction & Pick<NodeStore, 'audit'> => ({
  config: configReads(db),
  audit: auditStore(db),
  hold: holdStore(db),
  postfix: postfixRows(db),
  trust: trustStore(db),
  keyUses: keyUseStore(db),
  state: stateStore(db),
  records: recordStore(db),
  sequences: sequenceStore(db),
  outbox: outboxStore(db),
  applied: appliedStore(db),
  spooled: spoolRows(db),
});
