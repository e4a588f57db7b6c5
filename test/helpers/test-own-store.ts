// Tests of a node's own store, of its files and of what is replicated to it: a node on PostgreSQL has neither.
import test from 'ava';
import {isOwnStore} from './node-store.ts';

/** Skipped with PostgreSQL. */
const skipped = Object.assign(test.skip, {serial: test.serial.skip});

export const testOwnStore = isOwnStore ? test : skipped;
