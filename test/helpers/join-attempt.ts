// An attempt at `mfd join`, and the files that it leaves behind.
import type {ChildProcess} from 'node:child_process';
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import type {Host} from './network.ts';
import {freeListens, type TestNode} from './node.ts';
import {mfdFile, type Ran, run} from './program.ts';
import {testFolder} from './test-folder.ts';

export interface Attempt extends Ran {
  data: string;
  /** The content of the data folder, the folder itself included. */
  left: string[];
}

/** Passes the token on standard input and uses a folder of its own. */
export const attemptJoin = async (
  t: ExecutionContext<unknown>,
  token: string,
  options: {nodeId?: string; args?: string[]; host?: Host; program?: string; onStart?(child: ChildProcess): void} = {},
): Promise<Attempt> => {
  const root = await testFolder(t);
  const data = join(root, 'data');
  const given = options.args ?? [];
  const listens = await freeListens(options.host?.address);
  const isGiven = (at: number): boolean => given.includes(listens[at - (at % 2)] ?? '');
  const args = [
    ...['join', '-', '--data', data, '--json', ...listens.filter((_, at) => !isGiven(at))],
    ...(options.nodeId === undefined ? [] : ['--node-id', options.nodeId]),
  ];
  const ran = await run(options.program ?? mfdFile, [...args, ...given], {
    input: `${token}\n`,
    env: {XDG_CONFIG_HOME: join(root, 'config')},
    ...(options.host && {within: options.host.within}),
    ...(options.onStart && {onStart: options.onStart}),
  });
  return {...ran, data, left: await readdir(root, {recursive: true})};
};

export const makeToken = async (node: Pick<TestNode, 'api' | 'node_id'>, body: object = {}): Promise<string> => {
  const {status, json, body: text} = await node.api('POST', 'cluster/tokens', {body});
  if (status !== 201) throw new Error(`POST cluster/tokens of ${node.node_id}: ${status} ${text}`);
  return json.data.token;
};
