// Answers gathered from many nodes, some of which may be missing.
import {Fault} from '../../../shared/fault.ts';
import type {Gathered} from '../../services/quarantine/gather.ts';
import {nameUnreachable, reply} from '../answer.ts';
import type {Ctx} from './state.ts';

/** Returns the gathered data; throws if it has to be complete and is not. */
export const complete = <T>(gathered: Gathered<T>, isStrict: boolean): Gathered<T> => {
  if (isStrict && gathered.unreachable.length > 0)
    throw new Fault(
      'node_unreachable',
      `no answer from ${gathered.unreachable.join(', ')}; without strict=true the others' mail is listed`,
      {retryAfterSeconds: 5},
    );
  return gathered;
};

export const replyGathered = (ctx: Ctx, data: unknown, unreachable: string[]): void => {
  nameUnreachable(ctx, unreachable);
  reply(ctx, data, unreachable.length > 0 ? 'Partial' : 'OK');
};
