// This node's own hold queue: the list from the database, the bytes where their keeper has them.
import type {LocalHoldQueue} from '../services/ports.ts';
import {isHeld} from '../store/held-mail.ts';
import {createHeldIndex} from './held-index.ts';
import {unknownMail} from './held-life.ts';
import {createHoldActions, type HoldActions, type HoldActionsNeeds} from './hold-actions.ts';

/** What waits for the disk together is one commit; what bears less of it, such as a backend, is spared where it is met. */
const actsAtOnce = 1000;

export type OwnHoldQueue = LocalHoldQueue & Pick<HoldActions, 'expire' | 'idle' | 'isUnderWay' | 'catchUp'>;

export const createHoldQueue = (needs: HoldActionsNeeds): OwnHoldQueue => {
  const {nodeId, database, keeperOf, withRoom} = needs;
  const {act, expire, idle, isUnderWay, catchUp, find, audit} = createHoldActions(needs);

  return {
    nodeId,
    actsAtOnce,
    act,
    expire,
    idle,
    isUnderWay,
    catchUp,
    ...createHeldIndex({nodeId, database, find}),

    async body(queueId, actor) {
      const mail = await find(queueId, actor.reach);
      if (!isHeld(mail)) throw unknownMail(nodeId, queueId);
      const body = await keeperOf(mail).body(mail);
      // Nobody else hears of it yet, and a file may be gone by the time that it is opened: unheard, that would end the process.
      body.stream.on('error', () => {});
      try {
        await withRoom(async () => database.write.transaction(async tx => audit(tx, actor, {action: 'body', queueId})));
      } catch (error) {
        body.stream.destroy();
        throw error;
      }
      if (body.stream.errored)
        throw isHeld(await find(queueId, actor.reach)) ? body.stream.errored : unknownMail(nodeId, queueId);
      return body;
    },
  };
};
