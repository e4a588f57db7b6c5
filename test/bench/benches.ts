import {actions} from './actions.ts';
import type {Bench} from './bench.ts';
import {changes} from './changes.ts';
import {smtp} from './smtp.ts';

export const benches: readonly Bench[] = [smtp, actions, changes];
