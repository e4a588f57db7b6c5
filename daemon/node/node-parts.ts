import type {Logger} from 'pino';
import type {Peers} from '../cluster/peers.ts';
import type {Config} from '../config/schema.ts';
import type {Ballast} from '../hold/reserve-file.ts';
import type {Spool} from '../hold/spool/spool.ts';
import type {Metrics} from '../http/metrics.ts';
import type {Authority} from '../services/cluster/authority.ts';
import type {SqliteStore} from '../store/sqlite/store.ts';
import type {CutOff} from './cut-off.ts';
import type {LiveSettings} from './live-settings.ts';
import type {Records} from './records.ts';

/** What is opened before the services are, and what they are made of. */
export interface NodeParts {
  nodeId: string;
  nodeNo: number;
  fqdn: string;
  store: SqliteStore;
  spool: Spool & {tmpDir: string};
  ballast: Ballast;
  postfix: Config['postfix'];
  log: Logger;
  metrics: Metrics;
  now: () => number;
  settings(): LiveSettings;
  records: Records;
  peers: Peers;
  version: string;
  /** Whether this node can issue certificates. */
  hasAuthority: boolean;
  /** How long configurations may differ with nothing under way before they are compared. */
  driftAfterMs: number;
  authority(): Promise<Authority | undefined>;
  /** Certificate of the cluster's authority, PEM. */
  ca: string;
  cutOff: CutOff;
}
