// Queue ids of this node.
import {randomInt} from 'node:crypto';
import {toBase62} from '../../../shared/api-key-value.ts';

/**
 * Creates queue ids in base62: 8 characters of arrival time, 3 of the node number, 6 random ones. They sort by time, two nodes never
 * create the same one, and none is created twice.
 */
export const createQueueIds = (nodeNo: number, now: () => number): (() => string) => {
  return () => toBase62(now(), 8) + toBase62(nodeNo, 3) + toBase62(randomInt(62 ** 6), 6);
};
