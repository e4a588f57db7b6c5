// The minimal cost of a change that is on stable storage on three nodes: see durable-write-main.ts.
import {type ChildProcess, fork} from 'node:child_process';
import {Agent} from 'node:https';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {type ApiAnswer, callApi} from '../../helpers/api-call.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import type {Owner} from '../../helpers/daemon.ts';
import {testFolder} from '../../helpers/test-folder.ts';

export interface DurableNode {
  write(id: string, value: string): Promise<void>;
  read(id: string): Promise<string | null>;
}

const main = fileURLToPath(new URL('./durable-write-main.ts', import.meta.url));

/** Three processes; a write to the first is on all of them. */
export const startDurableNodes = async (owner: Owner): Promise<[DurableNode, DurableNode, DurableNode]> => {
  const root = await testFolder(owner);
  const pair = await selfSigned('durable.test');
  const started = await Promise.all([0, 1, 2].map(async n => startOne(owner, {...pair, file: join(root, `${n}.db`)})));
  await Promise.all(
    started.map(async ({child, port}) => {
      child.send({ports: started.map(one => one.port).filter(other => other !== port)});
      await answerOf(child);
    }),
  );

  const agent = new Agent({...pair, ca: pair.cert, keepAlive: true, checkServerIdentity: () => undefined});
  owner.teardown(() => agent.destroy());
  return started.map(({port}): DurableNode => {
    const call = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
      const answer = await callApi(agent, {api_url: `https://127.0.0.1:${port}`, api_key: ''}, {method, path, body});
      if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status}`);
      return answer;
    };
    return {
      write: async (id, value) => void (await call('POST', 'item', {id, value})),
      read: async id => (await call('GET', `item/${id}`)).json.data,
    };
  }) as [DurableNode, DurableNode, DurableNode];
};

const startOne = async (owner: Owner, setting: object): Promise<{child: ChildProcess; port: number}> => {
  const child = fork(main, {execArgv: ['--import=tsx'], stdio: ['ignore', 'inherit', 'inherit', 'ipc']});
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()));
  owner.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await answerOf(child);
  child.send(setting);
  const {port} = await answerOf(child);
  return {child, port: port ?? 0};
};

const answerOf = async (child: ChildProcess): Promise<{port?: number}> =>
  new Promise((resolve, reject) => {
    child.once('message', message => resolve(message as {port?: number}));
    child.once('close', code => reject(new Error(`ended with ${code}`)));
  });
