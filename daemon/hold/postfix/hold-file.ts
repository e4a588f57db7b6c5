// Path of the queue file of a mail on hold. `postcat -q` would search all queues for the mail.
import {join} from 'node:path';

/** Values as `postconf -xh` prints them (postconf(5)). */
export interface QueueLayout {
  queueDirectory: string;
  hashQueueNames: string;
  hashQueueDepth: string;
}

/** Parameters of main.cf, in the order that `queueLayout` expects. */
export const layoutParameters = ['queue_directory', 'hash_queue_names', 'hash_queue_depth'] as const;

export const queueLayout = (values: readonly string[]): QueueLayout => {
  const [queueDirectory = '', hashQueueNames = '', hashQueueDepth = ''] = values;
  return {queueDirectory, hashQueueNames, hashQueueDepth};
};

export const holdFile = ({queueDirectory, hashQueueNames, hashQueueDepth}: QueueLayout, queueId: string): string => {
  const isHashed = hashQueueNames
    .toLowerCase()
    .split(/[\s,]+/)
    .includes('hold');
  return join(queueDirectory, 'hold', ...(isHashed ? foldersOf(queueId, Number(hashQueueDepth)) : []), queueId);
};

/**
 * One folder for each leading character of a short id, or of the microseconds of a long id (mail_queue_dir and dir_forest of
 * Postfix).
 */
const foldersOf = (queueId: string, depth: number): string[] => {
  const microseconds = longIdTime(queueId)?.microseconds.toString(16).toUpperCase().padStart(5, '0');
  return (microseconds ?? queueId).padEnd(depth, '_').slice(0, depth).split('');
};

const digits = '0123456789BCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz';
const longId =
  /^([0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{6,7})([0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{4})z[0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-y]+$/;

const decode = (text = ''): number => [...text].reduce((sum, digit) => sum * digits.length + digits.indexOf(digit), 0);

/** When the queue file was created: seconds since 1970, and microseconds. Undefined for a short id. */
export const longIdTime = (queueId: string): {seconds: number; microseconds: number} | undefined => {
  const found = longId.exec(queueId);
  return found ? {seconds: decode(found[1]), microseconds: decode(found[2])} : undefined;
};
