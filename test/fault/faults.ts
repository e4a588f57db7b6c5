import type {Fault} from './fault.ts';
import {partition} from './partition.ts';

export const faults: readonly Fault[] = [partition];
