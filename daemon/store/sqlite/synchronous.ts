// Value of `PRAGMA synchronous`: FULL, except in builds for fault tests, which weaken it to check that the tests notice a power
// cut; see TEST_BUILD in bin/build.mjs.
import {z} from 'zod';

declare const TEST_BUILD: boolean;

const wantedSchema = z.enum(['FULL', 'NORMAL']).default('FULL');

export const synchronous: 'FULL' | 'NORMAL' =
  typeof TEST_BUILD !== 'undefined' && TEST_BUILD ? wantedSchema.parse(process.env.FAULT_SYNCHRONOUS) : 'FULL';
