import type {SharedStore} from '../../services/shared-store.ts';

export interface PostgresSettings {
  host: string;
  port: number;
  database: string;
  user: string;
  password?: string;
  ca?: string;
  hasTls: boolean;
  pool: number;
}

export class StoreRefusal extends Error {
  override name = 'StoreRefusal';
}

interface OpenNeeds {
  settings: PostgresSettings;
  nodeId: string;
  nodeNo: number;
  cluster: string;
  onProblem?(error: Error): void;
}

export const openPostgresStore = async (_: OpenNeeds): Promise<SharedStore> => {
  throw new StoreRefusal('not here yet');
};

export const createPostgresTables = async (_settings: PostgresSettings, _cluster: string): Promise<void> => {
  throw new StoreRefusal('not here yet');
};

export const inspectPostgres = async (
  _settings: PostgresSettings,
  _cluster: string | undefined,
): Promise<{warnings: string[]}> => {
  throw new StoreRefusal('not here yet');
};
