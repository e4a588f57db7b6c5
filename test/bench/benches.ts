import type {Bench} from './bench.ts';
import {smtp} from './smtp.ts';

export const benches: readonly Bench[] = [smtp];
