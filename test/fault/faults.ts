import type {Fault} from './fault.ts';

export const faults: readonly Fault[] = [];
