// Ports of the store that both makes have.
import type {RecordTransaction} from '../../services/node-store.ts';
import type {Store} from '../../services/ports.ts';
import {auditStore} from './audit.ts';
import {configReads, recordStore} from './config-record.ts';
import type {Db} from './db.ts';
import {digestStore} from './digest-store.ts';
import {dmarcStore} from './dmarc-store.ts';
import {eventLog} from './event-log.ts';
import {holdStore, postfixRows} from './hold-store.ts';
import {keyUseStore, sequenceStore, stateStore} from './local-state.ts';
import {outboxStore} from './outbox.ts';
import {receivedStore} from './received-store.ts';
import {trustStore} from './trust.ts';
import {webhookStore} from './webhook-store.ts';

/** For reading and writing. The types of the store give only transactions the writes. */
export const portsOn = (db: Db): RecordTransaction & Pick<Store, 'audit'> => ({
  config: configReads(db),
  audit: auditStore(db),
  hold: holdStore(db),
  events: eventLog(db),
  postfix: postfixRows(db),
  trust: trustStore(db),
  keyUses: keyUseStore(db),
  state: stateStore(db),
  dmarc: dmarcStore(db),
  received: receivedStore(db),
  webhooks: webhookStore(db),
  digests: digestStore(db),
  records: recordStore(db),
  sequences: sequenceStore(db),
  outbox: outboxStore(db),
});
