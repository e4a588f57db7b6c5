import {actions} from './actions.ts';
import {authentication} from './authentication.ts';
import type {Bench} from './bench.ts';
import {besidePostfix} from './beside-postfix.ts';
import {changes} from './changes.ts';
import {coldBench} from './cold.ts';
import {digests} from './digests.ts';
import {eventLog, postgresEventLog} from './event-log.ts';
import {harakaBeside} from './haraka-beside.ts';
import {lists} from './lists.ts';
import {memoryBench} from './memory.ts';
import {postgresHold} from './postgres-hold.ts';
import {postgresLists} from './postgres-lists.ts';
import {quiet} from './quiet.ts';
import {receivedReports} from './received-reports.ts';
import {rspamdBeside} from './rspamd-beside.ts';
import {slowDisk} from './slow-disk.ts';
import {smtp} from './smtp.ts';
import {webhooks} from './webhooks.ts';

export const benches: readonly Bench[] = [
  lists,
  besidePostfix,
  rspamdBeside,
  harakaBeside,
  slowDisk,
  smtp,
  authentication,
  receivedReports,
  actions,
  changes,
  coldBench,
  memoryBench,
  quiet,
  webhooks,
  digests,
  postgresLists,
  postgresHold,
  eventLog,
  postgresEventLog,
];
