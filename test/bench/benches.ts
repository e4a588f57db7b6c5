import type {Bench} from './bench.ts';

export const benches: readonly Bench[] = [];
