import {bitFlips} from './bit-flips.ts';
import {clocks} from './clocks.ts';
import {crashPointsFault} from './crash-points.ts';
import {diskFull} from './disk-full.ts';
import type {Fault} from './fault.ts';
import {hostileDns} from './hostile-dns.ts';
import {hostileHttp} from './hostile-http.ts';
import {hostileMailFault} from './hostile-mail.ts';
import {hostileMilter} from './hostile-milter.ts';
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
import {slowPeer} from './slow-peer.ts';
import {slowloris} from './slowloris.ts';

export const faults: readonly Fault[] = [
  kill,
  postgresKill,
  postgresFailOver,
  postgresFreeze,
  postgresCut,
  postgresDiskFull,
  postgresFolder,
  crashPointsFault,
  powerCut,
  partition,
  clocks,
  diskFull,
  bitFlips,
  slowPeer,
  races,
  postgresRaces,
  hostileSmtp,
  hostileHttp,
  hostileMilter,
  hostilePeer,
  hostileMailFault,
  hostileDns,
  slowloris,
  matrix,
];
