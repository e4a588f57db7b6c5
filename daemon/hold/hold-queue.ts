// Hold queue of this node: the list comes from the database, the bytes come from the hold backend.

import {Fault} from '../../shared/fault.ts';
import type {TrainingClass, TrainingOutcome} from '../../shared/held-mail.ts';
import type {HoldFilter} from '../../shared/hold-filter.ts';
import type {AccessScope} from '../../shared/scopes.ts';
import type {Actor} from '../services/actor.ts';
import type {MailBody} from '../services/intake/mail.ts';
import type {HeldQuery, SampledHeldQuery} from '../services/ports.ts';
import {type HoldQueue, isHeld, type ListedQueue, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {toDetail} from './held-facts.ts';
import {createHeldHeaders, type HeldHeaders} from './held-headers.ts';
import {createHoldActions, type HoldActions, type HoldActionsNeeds} from './hold-actions.ts';
import {createHoldWrites, unknownMail} from './hold-writes.ts';
import {recipientStates} from './named-recipients.ts';

/** Concurrent actions share one commit. Parts that can take fewer at once, such as a backend, have their own limits. */
const actsAtOnce = 1000;

export type OwnHoldQueue = HoldQueue & Omit<HoldActions, 'find'> & HeldHeaders;

export interface HoldQueueNeeds extends Omit<HoldActionsNeeds, 'writes'> {
  query: HeldQuery;
  withReserve<T>(write: () => Promise<T>): Promise<T>;
}

export const createHoldQueue = (needs: HoldQueueNeeds): OwnHoldQueue => {
  const {nodeId, store, query, backendOf, trainer} = needs;
  const writes = createHoldWrites(needs);
  const {find, ...actions} = createHoldActions({...needs, writes});

  const scopeOf = scopeOn(nodeId);

  const findHeld = async (queueId: string, {reach}: Actor): Promise<StoredHeldMail> => {
    const mail = await find(queueId, reach);
    if (!isHeld(mail)) throw unknownMail(nodeId, queueId);
    return mail;
  };

  const openBody = async (mail: StoredHeldMail, actor: Actor): Promise<MailBody> => {
    const body = await backendOf(mail).body(mail);
    // No reader is attached yet, and the file may be gone before it is opened: an unhandled error event would end the process.
    body.stream.on('error', () => {});
    try {
      await writes.write(mail.queue_id, async (_tx, recordAudit) => recordAudit(actor, {action: 'body', queueId: mail.queue_id}));
    } catch (error) {
      body.stream.destroy();
      throw error;
    }
    if (body.stream.errored) throw body.stream.errored;
    return body;
  };

  /** The bytes may be gone at any step once another action has ended the mail: then that is the answer. */
  const whileHeld = async <T>(queueId: string, actor: Actor, work: (mail: StoredHeldMail) => Promise<T>): Promise<T> => {
    const mail = await findHeld(queueId, actor);
    try {
      return await work(mail);
    } catch (error) {
      await findHeld(queueId, actor);
      throw error;
    }
  };

  const train = async (as: TrainingClass, mail: StoredHeldMail, actor: Actor): Promise<TrainingOutcome> => {
    const {queue_id: queueId, sender, recipients} = mail;
    const read = async () => backendOf(mail).body(mail);
    const record = async (ended: {result?: string; detail: string}) =>
      writes.write(queueId, async (_tx, recordAudit) => recordAudit(actor, {action: 'train', queueId, ...ended}));
    const outcome = await trainer.trainAsAsked(as, {queueId, sender, recipients}, read).catch(async error => {
      if (error instanceof Fault) await record({result: error.code, detail: `as ${as}: ${error.detail}`});
      throw error;
    });
    await record({detail: `as ${as}: ${outcome}`});
    return {node_id: nodeId, queue_id: queueId, as, outcome};
  };

  return {
    ...actions,
    ...createHeldHeaders(needs),
    nodeId,
    actsAtOnce,
    list: async (filter, page, actor) => query.list(filter, scopeOf(filter, actor), page),

    async summary(filter, actor) {
      const groups = await query.groups(filter, scopeOf(filter, actor));
      return {
        count: groups.reduce((sum, {count}) => sum + count, 0),
        size_bytes: groups.reduce((sum, {size_bytes}) => sum + size_bytes, 0),
        oldest_arrived_at: groups.map(({oldest_arrived_at}) => oldest_arrived_at).sort()[0] ?? null,
        groups: groups.map(({domain, reason, ...group}) => ({domain, reason, node_id: nodeId, ...group})),
      };
    },

    async get(queueId, actor) {
      const mail = await findHeld(queueId, actor);
      const acts = (await store.hold.recipientActs([queueId])).get(queueId) ?? [];
      const requests = await store.hold.requests([queueId]);
      return {
        ...toDetail(nodeId, mail),
        release_requested: requests.length > 0,
        recipient_states: recipientStates(mail, acts, requests),
      };
    },

    body: async (queueId, actor) => whileHeld(queueId, actor, async mail => openBody(mail, actor)),
    train: async (as, queueId, actor) => whileHeld(queueId, actor, async mail => train(as, mail, actor)),
  };
};

/** This node has no mail of another one. */
const scopeOn =
  (nodeId: string) =>
  ({node}: HoldFilter, {reach}: Actor): AccessScope =>
    node === undefined || node === nodeId ? reach : {kind: 'none'};

/** For a node with a store of its own. */
export const createListedQueue = (needs: HoldQueueNeeds & {query: SampledHeldQuery}): OwnHoldQueue & ListedQueue => {
  const {nodeId, query} = needs;
  const scopeOf = scopeOn(nodeId);
  return {
    ...createHoldQueue(needs),
    samples: async (filter, steps, actor) => query.samples(filter, scopeOf(filter, actor), steps),
    positionOf: async (filter, cursor, actor) => query.positionOf(filter, scopeOf(filter, actor), cursor),
  };
};
