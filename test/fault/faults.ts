import {bitFlips} from './bit-flips.ts';
import {clocks} from './clocks.ts';
import {crashPointsFault} from './crash-points.ts';
import {diskFull} from './disk-full.ts';
import type {Fault} from './fault.ts';
import {hostileDns} from './hostile-dns.ts';
import {hostileHttp} from './hostile-http.ts';
import {hostileMailFault} from './hostile-mail.ts';
import {hostileMilter} from './hostile-milter.ts';
import {hostilePages} from './hostile-pages.ts';
import {hostilePeer} from './hostile-peer.ts';
import {hostileSmtp} from './hostile-smtp.ts';
import {kill} from './kill.ts';
import {matrix} from './matrix.ts';
import {partition} from './partition.ts';
import {postgresCut} from './postgres-cut.ts';
import {postgresDiskFull} from './postgres-disk-full.ts';
import {postgresFailOver} from './postgres-fail-over.ts';
import {postgresFolder} from './postgres-folder.ts';
import {postgresFreeze} from './postgres-freeze.ts';
import {postgresKill} from './postgres-kill.ts';
import {powerCut} from './power-cut.ts';
import {postgresRaces, races} from './races.ts';
import {scannedLinks} from './scanned-links.ts';
import {slowPeer} from './slow-peer.ts';
import {slowloris} from './slowloris.ts';
import {webhookKill} from './webhook-kill.ts';

/** Faults of nodes that have their own stores. */
export const faultsOfNodes: readonly Fault[] = [
  kill,
  crashPointsFault,
  powerCut,
  partition,
  clocks,
  diskFull,
  bitFlips,
  slowPeer,
  races,
  webhookKill,
];

/** Faults of a PostgreSQL, and of nodes that share one. */
export const faultsOfPostgres: readonly Fault[] = [
  postgresKill,
  postgresFailOver,
  postgresFreeze,
  postgresCut,
  postgresDiskFull,
  postgresFolder,
  postgresRaces,
];

export const hostileInput: readonly Fault[] = [
  hostileSmtp,
  hostileHttp,
  hostileMilter,
  hostilePeer,
  hostilePages,
  scannedLinks,
  hostileMailFault,
  hostileDns,
  slowloris,
  matrix,
];

export const faults: readonly Fault[] = [...faultsOfNodes, ...faultsOfPostgres, ...hostileInput];
