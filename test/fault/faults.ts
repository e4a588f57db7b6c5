import {crashPointsFault} from './crash-points.ts';
import type {Fault} from './fault.ts';
import {kill} from './kill.ts';
import {powerCut} from './power-cut.ts';

export const faults: readonly Fault[] = [kill, crashPointsFault, powerCut];
