// Hold queue of this node: the list comes from the database, the bytes come from the hold backend.

import type {Actor} from '../services/access/actor.ts';
import type {HeldQuery} from '../services/ports.ts';
import {type HoldQueue, isHeld, type MailBody, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {createHeldIndex} from './held-index.ts';
import {createHoldActions, type HoldActions, type HoldActionsNeeds} from './hold-actions.ts';
import {unknownMail} from './hold-writes.ts';

/** Concurrent actions share one commit. Parts that can take fewer at once, such as a backend, have their own limits. */
const actsAtOnce = 1000;

export type OwnHoldQueue = HoldQueue & Pick<HoldActions, 'expire' | 'idle' | 'isUnderWay' | 'catchUp'>;

export const createHoldQueue = (needs: HoldActionsNeeds & {query: HeldQuery}): OwnHoldQueue => {
  const {nodeId, store, backendOf, withReserve} = needs;
  const {act, expire, idle, isUnderWay, catchUp, find, audit} = createHoldActions(needs);

  const openBody = async (mail: StoredHeldMail, actor: Actor): Promise<MailBody> => {
    const body = await backendOf(mail).body(mail);
    // No reader is attached yet, and the file may be gone before it is opened: an unhandled error event would end the process.
    body.stream.on('error', () => {});
    try {
      await withReserve(async () => store.transaction(async tx => audit(tx, actor, {action: 'body', queueId: mail.queue_id})));
    } catch (error) {
      body.stream.destroy();
      throw error;
    }
    if (body.stream.errored) throw body.stream.errored;
    return body;
  };

  return {
    nodeId,
    actsAtOnce,
    act,
    expire,
    idle,
    isUnderWay,
    catchUp,
    ...createHeldIndex({nodeId, query: needs.query, find}),

    async body(queueId, actor) {
      const mail = await find(queueId, actor.reach);
      if (!isHeld(mail)) throw unknownMail(nodeId, queueId);
      try {
        return await openBody(mail, actor);
      } catch (error) {
        // The file may be removed at any step once another action has ended the mail.
        if (isHeld(await find(queueId, actor.reach))) throw error;
        throw unknownMail(nodeId, queueId);
      }
    },
  };
};
