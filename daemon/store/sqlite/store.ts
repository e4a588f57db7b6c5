// Implementation of the store ports with SQLite: one database file for one node.
import type {NodeStore, NodeTransaction} from '../../services/node-store.ts';
import type {Db} from '../sql/db.ts';
import {appliedStore} from '../sql/outbox.ts';
import {portsOn} from '../sql/ports.ts';
import {type Database, openDatabase} from './database.ts';
import {createHeldQuery} from './held-query.ts';
import {findDamage} from './integrity.ts';
import {asDb} from './query.ts';
import {spoolRows} from './spooled-mail.ts';

export const createSqliteStore = (database: Database): NodeStore => {
  // Transactions run one after the other on one connection, so they share their ports.
  const writer = nodePorts(database.write);
  return {
    ...nodePorts(database.read),
    transaction: async work => database.transaction(async () => work(writer)),
    atOneMoment: async read => database.read.transaction(async tx => read(nodePorts(asDb(tx)))),
    damage: database.damage,
    findDamage: async () => findDamage(database),
    heldQuery: nodeId => createHeldQuery(database.read, nodeId),
    close: database.close,
  };
};

/** Opens the store, and creates or migrates the database where needed. */
export const openSqliteStore = async (filename: string): Promise<NodeStore> => createSqliteStore(await openDatabase(filename));

/** Ports for reading and writing. Connections that are not for writing refuse the writes. */
const nodePorts = (db: Db): NodeTransaction & Pick<NodeStore, 'audit'> => ({
  ...portsOn(db),
  applied: appliedStore(db),
  spooled: spoolRows(db),
});
