import {clocks} from './clocks.ts';
import type {Fault} from './fault.ts';
import {partition} from './partition.ts';
import {races} from './races.ts';

export const faults: readonly Fault[] = [partition, clocks, races];
