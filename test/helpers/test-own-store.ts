// Tests of the files of a node's own store, which a node on PostgreSQL does not have.
import test from 'ava';
import {isOwnStore} from './node-store.ts';

export const testOwnStore = isOwnStore ? test : test.skip;
