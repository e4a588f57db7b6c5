import {actions} from './actions.ts';
import {authBench} from './auth.ts';
import type {Bench} from './bench.ts';
import {changes} from './changes.ts';
import {coldBench} from './cold.ts';
import {memoryBench} from './memory.ts';
import {smtp} from './smtp.ts';

export const benches: readonly Bench[] = [authBench, smtp, actions, changes, coldBench, memoryBench];
