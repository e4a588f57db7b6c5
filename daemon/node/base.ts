// What every part of a node is built on. `node.ts` opens it first; only the composition root passes it on.
import type {Logger} from 'pino';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
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
  log: Logger;
  now: () => number;
}
