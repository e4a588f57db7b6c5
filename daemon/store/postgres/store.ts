// Implementation of the store ports with PostgreSQL: one database for all nodes of a cluster.
import {type HoldFilter, isSearch} from '../../../shared/hold-filter.ts';
import type {NodeIdentity} from '../../services/actor.ts';
import type {CommonHeldQuery, CommonStore, CommonTransaction} from '../../services/common-store.ts';
import type {EventSettings, StateStore} from '../../services/ports.ts';
import {type SearchLimit, usualSearchLimit} from '../../services/search-limits.ts';
import {createSemaphore} from '../../services/semaphore.ts';
import {auditStore} from '../sql/audit.ts';
import {configReads, recordStore} from '../sql/config-record.ts';
import {mailFirst} from '../sql/event-log.ts';
import {takeOverRows} from '../sql/event-stream.ts';
import {stateStore, writeState} from '../sql/local-state.ts';
import {outboxStore} from '../sql/outbox.ts';
import {portsOn} from '../sql/ports.ts';
import {bodyReads, bodyStore, removeBodies} from './bodies.ts';
import {mayBeOfLog, type PostgresSettings} from './connection.ts';
import {type Database, openDatabase} from './database.ts';
import {dbOn, dialectOf, newLogState, type PostgresDb, type Scope, withEntries} from './dialect.ts';
import {createCommonHeldQuery} from './held-query.ts';
import {inspectPostgres, StoreRefusal} from './inspect.ts';
import {holdsLog, leasesOn, logHoldsOn, presenceOn} from './nodes.ts';
import {migrate} from './schema.ts';
import {openSearches, type Searches} from './searches.ts';
import {channel, startWatch} from './watch.ts';

interface Needs extends NodeIdentity {
  settings: PostgresSettings;
  /** The fingerprint of the cluster's authority. */
  cluster: string;
  searchLimit?: SearchLimit;
}

/** Makes the tables of a new cluster in an empty database. Throws a StoreRefusal. */
export const createPostgresTables = async (settings: PostgresSettings, cluster: string): Promise<void> => {
  const {hasCluster} = await inspectPostgres(settings, undefined);
  if (hasCluster)
    throw new StoreRefusal(
      `the database ${settings.database} holds a cluster already; join it instead (mfd join), or name an empty one`,
    );
  const database = openDatabase({...settings, pool: 1});
  try {
    await database.transaction(async client => {
      await migrate(client);
      await writeState(dbOn(client, dialectOf({nodeId: '', claimant: ''})), 'cluster', cluster);
    });
  } finally {
    await database.close();
  }
};

/** Opens the store of an existing cluster, and upgrades its tables where needed. Throws a StoreRefusal. */
export const openPostgresStore = async ({
  settings,
  cluster,
  searchLimit = usualSearchLimit,
  ...identity
}: Needs): Promise<CommonStore> => {
  const {hasCluster} = await inspectPostgres(settings, cluster);
  if (!hasCluster)
    throw new StoreRefusal(
      `the database ${settings.database} holds no cluster; make one with mfd init --store-url, or restore a backup`,
    );
  const database = openDatabase(settings);
  await database.transaction(async client => {
    await migrate(client);
    await takeOverRows(dbOn(client, dialectOf({nodeId: '', claimant: ''})));
    // Of processes that have ended.
    await client.query("DELETE FROM last_commit WHERE at < now() - interval '1 day'");
  });
  // Two, as a lease may wait for the lock of a mail.
  const following = openDatabase({...settings, pool: 2});
  return createPostgresStore({database, following, searches: openSearches(settings, searchLimit), settings, identity});
};

interface StoreNeeds {
  database: Database;
  /** For statements that must be done within seconds, however many requests wait for a connection of `database`. */
  following: Database;
  searches: Searches;
  settings: PostgresSettings;
  /** This node. */
  identity: NodeIdentity;
}

const createPostgresStore = ({database, following, searches, settings, identity}: StoreNeeds): CommonStore => {
  const notify = createNotify(database);
  // Those that wait for the lock among all nodes would each have a connection, and be refused after `lock_timeout`.
  const changes = createSemaphore(1);
  const log = newLogState();
  let onLeftOut: EventSettings['onLeftOut'] = () => {};

  const inScope = (scope: Scope): CommonStore => {
    const dialect = dialectOf(scope);
    const db = dbOn(database, dialect);
    const transaction: CommonStore['transaction'] = async work =>
      mailFirst(
        async entries =>
          database.transaction(async client => {
            // After a deadlock it is not the first attempt.
            entries.count = 0;
            return work(transactionOn(dbOn(client, withEntries(dialect, entries)), scope));
          }),
        {mayBeOfLog, onLeftOut: (...leftOut) => onLeftOut(...leftOut)},
      );
    const onSearch = async <T>(search: (db: PostgresDb) => Promise<T>): Promise<T> =>
      searches.run(async connection => search(dbOn(connection, dialect)));
    const ports = portsOn(db);
    const followingDb = dbOn(following, dialect);
    return {
      ...ports,
      config: configReads(followingDb),
      records: recordStore(followingDb),
      outbox: outboxStore(followingDb),
      // They read as many rows as strangers have sent.
      dmarc: {...ports.dmarc, summary: async choice => onSearch(async searchDb => portsOn(searchDb).dmarc.summary(choice))},
      events: {
        ...ports.events,
        find: async (filter, reach, page) => onSearch(async searchDb => portsOn(searchDb).events.find(filter, reach, page)),
      },
      received: {
        ...ports.received,
        reported: async choice => onSearch(async searchDb => portsOn(searchDb).received.reported(choice)),
      },
      state: ownState(db, scope),
      bodies: bodyReads(db),
      leases: leasesOn(followingDb),
      logHolds: logHoldsOn(followingDb, scope.claimant),
      heldQuery: heldQueryOn(db, onSearch),
      ...presenceOn(followingDb, identity),
      transaction,
      changeTransaction: async work =>
        changes.run(async () =>
          database.transaction(async client => {
            await client.query("SELECT pg_advisory_xact_lock(hashtext('mfd change'))");
            return work(transactionOn(dbOn(client, dialect), scope));
          }),
        ),
      configureEvents(given) {
        log.keepsSubjects = given.keepsSubjects;
        ({onLeftOut} = given);
      },
      of: nodeId => inScope({...scope, nodeId}),
      watch: listeners => startWatch(settings, listeners),
      notify,
      async close() {
        await Promise.all([database.close(), following.close(), searches.close()]);
      },
    };
  };
  return inScope({nodeId: identity.nodeId, claimant: identity.nodeId, log});
};

const heldQueryOn = (db: PostgresDb, onSearch: <T>(search: (db: PostgresDb) => Promise<T>) => Promise<T>): CommonHeldQuery => {
  const query = createCommonHeldQuery(db);
  const on = async <T>(filter: HoldFilter, ask: (query: CommonHeldQuery) => Promise<T>): Promise<T> =>
    isSearch(filter) ? onSearch(async searchDb => ask(createCommonHeldQuery(searchDb))) : ask(query);
  return {
    list: async (filter, scope, page) => on(filter, async asked => asked.list(filter, scope, page)),
    groups: async (filter, scope) => on(filter, async asked => asked.groups(filter, scope)),
    postfixNodes: query.postfixNodes,
    holdingNodes: query.holdingNodes,
    keepersOf: query.keepersOf,
  };
};

/** A NOTIFY inside each transaction would take a lock over the whole database at its commit. Those that come together are one. */
const createNotify = (database: Database): (() => void) => {
  let isDue = false;
  let isRunning = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    while (isDue) {
      isDue = false;
      await database.query(`NOTIFY ${channel}`).catch(() => {});
    }
    isRunning = false;
  };
  return () => {
    isDue = true;
    if (!isRunning) void run();
  };
};

const transactionOn = (tx: PostgresDb, scope: Scope): CommonTransaction => {
  // What a node does with the mail of another one is in its own log.
  const audit = auditStore({...tx, dialect: dialectOf({...scope, nodeId: scope.claimant})});
  const ports = portsOn(tx);
  const {hold} = ports;
  return {
    ...ports,
    audit: {
      async append(...entries) {
        if (entries.length === 0) return;
        // Each entry contains the hash of the one before it.
        await tx.run('SELECT pg_advisory_xact_lock(hashtext(?))', [`mfd audit ${scope.claimant}`]);
        await audit.append(...entries);
      },
    },
    hold: {
      ...hold,
      async end(...end) {
        const ended = await hold.end(...end);
        await removeBodies(tx, [...ended]);
        return ended;
      },
    },
    state: ownState(tx, scope),
    bodies: bodyStore(tx),
    holdsLog: async loggedBy => holdsLog(tx, loggedBy, scope.claimant),
  };
};

/** Local state of the node in scope: the table is the same for all. */
const ownState = (db: PostgresDb, {nodeId}: Scope): StateStore => {
  const {read, write} = stateStore(db);
  const nameOf = (name: string) => `${nodeId}/${name}`;
  return {read: async name => read(nameOf(name)), write: async (name, value) => write(nameOf(name), value)};
};
