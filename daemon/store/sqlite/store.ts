// Implementation of the store ports with SQLite: one database file for one node.
import {Fault} from '../../../shared/fault.ts';
import {type HoldFilter, isSearch} from '../../../shared/hold-filter.ts';
import type {NodeStore, NodeTransaction} from '../../services/node-store.ts';
import type {EventSettings, SampledHeldQuery} from '../../services/ports.ts';
import type {SearchLimit} from '../../services/search-limits.ts';
import type {Db} from '../sql/db.ts';
import {dmarcStore} from '../sql/dmarc-store.ts';
import {eventLog, mailFirst} from '../sql/event-log.ts';
import {appliedStore} from '../sql/outbox.ts';
import {portsOn} from '../sql/ports.ts';
import {receivedStore} from '../sql/received-store.ts';
import {type Database, isDamaged, mayBeOfLog, openDatabase} from './database.ts';
import {createHeldQuery} from './held-query.ts';
import {findDamage, findIndexDamage, findLogDamage} from './integrity.ts';
import {asDb} from './query.ts';
import {spoolRows} from './spooled-mail.ts';

export const createSqliteStore = (database: Database): NodeStore => {
  // Transactions run one after the other on one connection, so they share their ports.
  const writer = nodePorts(database.write);
  const reader = nodePorts(database.read);
  const {logger} = database.write.dialect;
  let onLeftOut: EventSettings['onLeftOut'] = () => {};
  return {
    ...reader,
    spooled: spoolRows(database.scan),
    // They read as many rows as strangers have sent.
    dmarc: {...reader.dmarc, summary: async choice => database.search(async db => dmarcStore(db).summary(choice))},
    events: {
      ...reader.events,
      find: async (filter, reach, page) => database.search(async db => eventLog(db).find(filter, reach, page)).catch(sayDamaged),
    },
    received: {...reader.received, reported: async choice => database.search(async db => receivedStore(db).reported(choice))},
    transaction: async work =>
      mailFirst(
        async entries =>
          database.transaction(async () => {
            logger.ofChanges = entries;
            return work(writer);
          }),
        {mayBeOfLog, onLeftOut: (...leftOut) => onLeftOut(...leftOut)},
      ),
    atOneMoment: async read => database.read.transaction(async tx => read(nodePorts(asDb(tx)))),
    damage: database.damage,
    findDamage: async () => findDamage(database),
    findIndexDamage: async () => findIndexDamage(database),
    findLogDamage: async () => findLogDamage(database),
    heldQuery: nodeId => heldQueryOn(database, nodeId),
    configureEvents(settings) {
      logger.keepsSubjects = settings.keepsSubjects;
      ({onLeftOut} = settings);
    },
    close: database.close,
  };
};

/** Mail goes on without its log, so the node does not stop for it. */
const sayDamaged = (error: unknown): never => {
  if (!isDamaged(error)) throw error;
  throw new Fault('unavailable', 'the event log of this node is damaged; stop the node and run mfd repair', {cause: error});
};

/** Opens the store, and creates or migrates the database where needed. */
export const openSqliteStore = async (filename: string, options: {searchLimit?: SearchLimit} = {}): Promise<NodeStore> =>
  createSqliteStore(await openDatabase(filename, options));

const heldQueryOn = ({read, search}: Database, nodeId: string): SampledHeldQuery => {
  const query = createHeldQuery(read, nodeId);
  const on = async <T>(filter: HoldFilter, ask: (query: SampledHeldQuery) => Promise<T>): Promise<T> =>
    isSearch(filter) ? search(async db => ask(createHeldQuery(db, nodeId))) : ask(query);
  return {
    list: async (filter, scope, page) => on(filter, async asked => asked.list(filter, scope, page)),
    samples: async (filter, scope, steps) => on(filter, async asked => asked.samples(filter, scope, steps)),
    positionOf: async (filter, scope, cursor) => on(filter, async asked => asked.positionOf(filter, scope, cursor)),
    groups: async (filter, scope) => on(filter, async asked => asked.groups(filter, scope)),
  };
};

/** Ports for reading and writing. Connections that are not for writing refuse the writes. */
const nodePorts = (db: Db): NodeTransaction & Pick<NodeStore, 'audit'> => ({
  ...portsOn(db),
  applied: appliedStore(db),
  spooled: spoolRows(db),
});
