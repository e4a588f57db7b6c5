import {bitFlips} from './bit-flips.ts';
import {crashPointsFault} from './crash-points.ts';
import {diskFull} from './disk-full.ts';
import type {Fault} from './fault.ts';
import {kill} from './kill.ts';

export const faults: readonly Fault[] = [kill, crashPointsFault, diskFull, bitFlips];
