import {authBench} from './auth.ts';
import type {Bench} from './bench.ts';
import {coldBench} from './cold.ts';
import {memoryBench} from './memory.ts';

export const benches: readonly Bench[] = [coldBench, authBench, memoryBench];
