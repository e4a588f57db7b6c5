import {bitFlips} from './bit-flips.ts';
import {diskFull} from './disk-full.ts';
import type {Fault} from './fault.ts';

export const faults: readonly Fault[] = [bitFlips, diskFull];
