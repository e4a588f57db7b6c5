import {randomInt} from 'node:crypto';
import {toBase62} from '../../../shared/api-key-value.ts';

/**
 * Makes queue ids: 8 characters of arrival time, 3 of the node number, 6 random ones, all base62. They sort by time, no
 * two nodes make the same, and none is ever made twice.
 */
export const createQueueIds = (nodeNo: number, now: () => number): (() => string) => {
  return () => toBase62(now(), 8) + toBase62(nodeNo, 3) + toBase62(randomInt(62 ** 6), 6);
};
