// Tests of the files of a node's own store, which a node on PostgreSQL does not have.
import test from 'ava';
import {isOwnStore} from './node-store.ts';

/** Skipped with PostgreSQL. */
const skipped = Object.assign(test.skip, {serial: test.serial.skip});

export const testOwnStore = isOwnStore ? test : skipped;
