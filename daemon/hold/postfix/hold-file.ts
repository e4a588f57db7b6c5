// Path of the queue file of a mail on hold. `postcat -q` would search all queues for the mail.
import {join} from 'node:path';
import {longIdTime} from './long-queue-id.ts';

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
