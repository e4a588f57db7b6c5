// A PostgreSQL server with a synchronous standby, behind an address that moves at a fail-over.
import {rm} from 'node:fs/promises';
import {join} from 'node:path';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {type PostgresServer, startPostgres} from './postgres-server.ts';
import {startProxy, type TcpProxy} from './tcp-proxy.ts';

export interface PostgresPair extends PostgresServer {
  /** Kills the primary and promotes the standby; resolves once the address is that of the new primary, which is alone. */
  failOver(): Promise<void>;
  /** Gives a primary that is alone a new standby, for which each COMMIT waits. */
  completePair(): Promise<void>;
  /** Kills the standby: each COMMIT waits from now on. */
  loseStandby(): Promise<void>;
}

/** The server that `current` returns, at the address of a proxy to it. */
export const postgresBehind = ({port}: TcpProxy, current: () => PostgresServer): PostgresServer => ({
  ...current(),
  port,
  connect: async database => current().connect(database),
  query: async (sql, options) => current().query(sql, options),
  async createDatabase(name) {
    const database = await current().createDatabase(name);
    return {...database, url: database.url.replace(/:\d+\//, `:${port}/`)};
  },
});

export const startPostgresPair = async (owner: Owner): Promise<PostgresPair> => {
  let primary = await startPostgres(owner);
  let standby: PostgresServer | undefined;
  const proxy = await startProxy(owner, () => ({host: primary.host, port: primary.port}));
  const remove = async ({socketFolder}: PostgresServer) => rm(join(socketFolder, 'data'), {recursive: true, force: true});

  const waitForStandby = async (name: string): Promise<void> => {
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await primary.query('SELECT pg_reload_conf()');
  };
  const completePair = async (): Promise<void> => {
    standby = await startPostgres(owner, {standbyOf: primary});
    await waitForStandby('*');
    await eventually(async () => {
      const sql = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'";
      return (await primary.query(sql)).length > 0;
    });
  };

  await completePair();
  return {
    ...postgresBehind(proxy, () => primary),
    async failOver() {
      if (!standby) throw new Error('there is no standby');
      const former = primary;
      await former.kill();
      primary = standby;
      standby = undefined;
      await primary.query('SELECT pg_promote()');
      // Its settings are those of the former primary, which waited for a standby.
      await waitForStandby('');
      proxy.reset();
      await remove(former);
    },
    completePair,
    async loseStandby() {
      if (!standby) throw new Error('there is no standby');
      await standby.kill();
      await remove(standby);
      standby = undefined;
    },
  };
};
