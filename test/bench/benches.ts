import type {Bench} from './bench.ts';
import {healing, scale} from './cluster.ts';
import {dashboard} from './dashboard.ts';
import {milter} from './milter.ts';

export const benches: readonly Bench[] = [milter, dashboard, scale, healing];
