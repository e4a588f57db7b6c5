import type {Bench} from './bench.ts';
import {lists} from './lists.ts';

export const benches: readonly Bench[] = [lists];
