import {actions} from './actions.ts';
import type {Bench} from './bench.ts';
import {changes} from './changes.ts';

export const benches: readonly Bench[] = [changes, actions];
