// This node's own hold queue: the list from the database, the bytes where their keeper has them.
import type {LocalHoldQueue} from '../services/ports.ts';
import {isHeld} from '../store/held-mail.ts';
import {createHeldIndex} from './held-index.ts';
import {createHoldActions, type HoldActions, type HoldActionsNeeds, unknownMail} from './hold-actions.ts';

export type OwnHoldQueue = LocalHoldQueue & Pick<HoldActions, 'expire' | 'idle' | 'isUnderWay' | 'catchUp'>;

export const createHoldQueue = (needs: HoldActionsNeeds): OwnHoldQueue => {
  const {nodeId, database, keeperOf, withRoom} = needs;
  const {act, expire, idle, isUnderWay, catchUp, find, audit} = createHoldActions(needs);

  return {
    nodeId,
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
      try {
        await withRoom(async () => database.write.transaction(async tx => audit(tx, actor, {action: 'body', queueId})));
      } catch (error) {
        body.stream.destroy();
        throw error;
      }
      return body;
    },
  };
};
