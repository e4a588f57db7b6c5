// The server of a room whose nodes share a PostgreSQL; the runner starts it before the tests.
import {startOwner} from './owner.ts';
import {type PostgresAddress, startPostgres} from './postgres-server.ts';

interface RoomPostgres {
  address: PostgresAddress;
  /** Options of `mfd init` for a new cluster. */
  initOptions: string[];
  end(): Promise<void>;
}

export const startRoomPostgres = async (): Promise<RoomPostgres> => {
  const {end, ...owner} = startOwner();
  // For dozens of nodes at once.
  const settings = {max_connections: 1000, shared_buffers: '128MB'};
  const {port, socketFolder, passwordFile, createDatabase} = await startPostgres(owner, {settings});
  const {url} = await createDatabase();
  return {
    address: {port, socketFolder, passwordFile},
    initOptions: ['--store-url', url, '--store-password-file', passwordFile],
    end,
  };
};
