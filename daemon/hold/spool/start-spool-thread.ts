// Starts the thread of spool-thread.ts. A build has the whole of that in the place of this module: see bin/build.mjs.
import {Worker} from 'node:worker_threads';
import type {SpoolFolders} from './spool-thread.ts';

export const startSpoolThread = (workerData: SpoolFolders): Worker =>
  new Worker(new URL('./spool-thread.ts', import.meta.url), {workerData});
