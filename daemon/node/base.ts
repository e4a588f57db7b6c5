// Base of a node: what `node.ts` opens first. An opener names the members that it needs (`Pick`); the whole is for those that need all.
import type {Logger} from 'pino';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
import type {Dependencies} from '../services/dependencies/dependencies.ts';
import type {LiveSettings} from './live-settings.ts';
import type {Records} from './records.ts';
import type {Storage} from './storage.ts';
import type {Trust} from './trust.ts';

export interface Base {
  /** As it was at the start. */
  config: Config;
  settings(): LiveSettings;
  /** The host name of this node. */
  fqdn: string;
  storage: Storage;
  records: Records;
  trust: Trust;
  metrics: Metrics;
  /** The health of what this node depends on. */
  dependencies: Dependencies;
  log: Logger;
  now: () => number;
}
