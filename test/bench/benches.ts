import {actions} from './actions.ts';
import {authBench} from './auth.ts';
import type {Bench} from './bench.ts';
import {changes} from './changes.ts';
import {healing, scale} from './cluster.ts';
import {coldBench} from './cold.ts';
import {dashboard} from './dashboard.ts';
import {lists} from './lists.ts';
import {memoryBench} from './memory.ts';
import {milter} from './milter.ts';
import {smtp} from './smtp.ts';

export const benches: readonly Bench[] = [
  lists,
  authBench,
  smtp,
  actions,
  changes,
  coldBench,
  memoryBench,
  milter,
  dashboard,
  scale,
  healing,
];
