// Mail on hold in a private Postfix, and what an operator does with it by Postfix's own programs.
import type {Owner} from '../../helpers/daemon.ts';
import {startPostfix} from '../../helpers/postfix.ts';
import {holdEverything} from '../../helpers/postfix-node.ts';
import {sendMany} from '../../helpers/send-many.ts';
import {type CountingSink, startCountingSink} from '../counting-sink.ts';

export interface PostfixHold {
  sink: CountingSink;
  hold(count: number, raw: string): Promise<void>;
  /** Ids of all that is on hold. */
  ids(): Promise<string[]>;
  releaseOne(id: string): Promise<void>;
  releaseMany(ids: readonly string[]): Promise<void>;
  discardMany(ids: readonly string[]): Promise<void>;
}

export const startPostfixHold = async (owner: Owner): Promise<PostfixHold> => {
  const sink = await startCountingSink(owner);
  const postfix = await startPostfix(owner, {
    settings: {
      ...holdEverything,
      in_flow_delay: '0',
      relay_domains: 'example.com',
      relay_transport: `relay:[127.0.0.1]:${sink.server.port}`,
      // Only what it is asked for is delivered.
      queue_run_delay: '300s',
      minimal_backoff_time: '300s',
      maximal_backoff_time: '300s',
    },
  });
  const insist = async (program: string, args: string[], input?: string): Promise<void> => {
    const {code, stderr} = await postfix.command(program, args, input);
    if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  };
  const lines = (ids: readonly string[]) => ids.map(id => `${id}\n`).join('');

  return {
    sink,
    hold: async (count, raw) => sendMany({port: postfix.port, count, mail: n => ({to: `user${n % 1000}@example.com`, raw})}),
    ids: async () => (await postfix.queue()).filter(({queue_name}) => queue_name === 'hold').map(({queue_id}) => queue_id),
    async releaseOne(id) {
      await insist('postsuper', ['-H', '-', 'hold'], lines([id]));
      await insist('postqueue', ['-i', id]);
    },
    async releaseMany(ids) {
      await insist('postsuper', ['-H', '-', 'hold'], lines(ids));
      await insist('postqueue', ['-f']);
    },
    discardMany: async ids => insist('postsuper', ['-d', '-', 'hold'], lines(ids)),
  };
};
