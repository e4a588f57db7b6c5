import {clocks} from './clocks.ts';
import type {Fault} from './fault.ts';
import {partition} from './partition.ts';
import {races} from './races.ts';
import {slowPeer} from './slow-peer.ts';

export const faults: readonly Fault[] = [partition, clocks, slowPeer, races];
