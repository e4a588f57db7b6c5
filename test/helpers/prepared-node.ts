// Copies of one node that `test/run.mjs` has created. Running `mfd init` in each test took longer than starting the node.
import {cp, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Owner} from './daemon.ts';
import {copyStore} from './node-store.ts';
import {freePort} from './ports.ts';

interface Report {
  data: string;
  api_url: string;
  cluster_url: string;
  metrics_url: string;
  smtp: string;
}

const folder = process.env.TEST_PREPARED_NODE;

/** What `mfd init --json` would have printed; undefined where no node has been prepared. */
export const copyPreparedNode = async <R extends Report>(
  owner: Owner,
  {data, xdgConfigHome}: {data: string; xdgConfigHome: string},
): Promise<R | undefined> => {
  if (folder === undefined) return undefined;
  const printed = await readFile(join(folder, 'report.json'), 'utf8');
  const made = JSON.parse(printed) as R;
  const moves: [string, string][] = [[made.data, data]];
  for (const address of [made.api_url, made.cluster_url, made.metrics_url, made.smtp])
    moves.push([address.slice(address.lastIndexOf(':')), `:${await freePort()}`]);
  const store = await copyStore(owner, made.data);
  if (store) moves.push([store.from, store.to]);
  // All ports are replaced in one step: a new port may equal an old one of another listener.
  const pattern = new RegExp(moves.map(([from]) => from.replace(/[.+]/g, '\\$&')).join('|'), 'g');
  const moved = (text: string) => text.replace(pattern, found => moves.find(([from]) => from === found)?.[1] ?? found);

  await cp(made.data, data, {recursive: true});
  await cp(join(folder, 'config'), xdgConfigHome, {recursive: true});
  for (const file of [join(data, 'mfd.yaml'), join(xdgConfigHome, 'mfctl/config.yaml')])
    await writeFile(file, moved(await readFile(file, 'utf8')));
  return JSON.parse(moved(printed)) as R;
};
