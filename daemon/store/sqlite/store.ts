// Implementation of the store ports with SQLite: one database file for one node.
import type {NodeStore, NodeTransaction} from '../../services/node-store.ts';
import type {AuditReads} from '../../services/ports.ts';
import {appendAudit, listAudit, positionInAudit, sampleAudit} from './audit.ts';
import {configReads, recordReads, recordStore} from './config-record.ts';
import {type Database, type Db, openDatabase} from './database.ts';
import {createHeldQuery} from './held-query.ts';
import {holdReads, holdStore, postfixRowReads, postfixRows} from './hold-store.ts';
import {findDamage} from './integrity.ts';
import {keyUseReads, keyUseStore, readState, sequenceReads, sequenceStore, writeState} from './local-state.ts';
import {appliedReads, appliedStore, outboxReads, outboxStore} from './outbox.ts';
import {spoolRowReads, spoolRows} from './spooled-mail.ts';
import {trustReads, trustStore} from './trust.ts';

export const createSqliteStore = (database: Database): NodeStore => ({
  ...readsOf(database.read),
  transaction: async work => database.transaction(async tx => work(transactionOf(tx))),
  atOneMoment: async read => database.read.transaction(async tx => read(readsOf(tx))),
  damage: database.damage,
  findDamage: async () => findDamage(database),
  heldQuery: nodeId => createHeldQuery(database, nodeId),
  close: database.close,
});

/** Opens the store, and creates or migrates the database where needed. */
export const openSqliteStore = async (filename: string): Promise<NodeStore> => createSqliteStore(await openDatabase(filename));

const auditReads = (db: Db): AuditReads => ({
  list: async (filter, page) => listAudit(db, filter, page),
  samples: async (filter, steps) => sampleAudit(db, filter, steps),
  positionOf: async (filter, cursor, nodeId) => positionInAudit(db, filter, {cursor, nodeId}),
});

const readsOf = (db: Db) => ({
  config: configReads(db),
  audit: auditReads(db),
  hold: holdReads(db),
  postfix: postfixRowReads(db),
  trust: trustReads(db),
  keyUses: keyUseReads(db),
  state: {read: async (name: string) => readState(db, name)},
  records: recordReads(db),
  sequences: sequenceReads(db),
  outbox: outboxReads(db),
  applied: appliedReads(db),
  spooled: spoolRowReads(db),
});

const transactionOf = (tx: Db): NodeTransaction => ({
  config: configReads(tx),
  audit: {append: async (...entries) => appendAudit(tx, ...entries)},
  hold: holdStore(tx),
  postfix: postfixRows(tx),
  trust: trustStore(tx),
  keyUses: keyUseStore(tx),
  state: {read: async name => readState(tx, name), write: async (name, value) => writeState(tx, name, value)},
  records: recordStore(tx),
  sequences: sequenceStore(tx),
  outbox: outboxStore(tx),
  applied: appliedStore(tx),
  spooled: spoolRows(tx),
});
