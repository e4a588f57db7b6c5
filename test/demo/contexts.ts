// The mfctl contexts of the user who runs the demo, for as long as it runs.
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {withLock} from '../../cli/files/file-lock.ts';
import type {Owner} from '../helpers/daemon.ts';
import type {TestNode} from '../helpers/node.ts';
import {mfctlFile, type Ran, run} from '../helpers/program.ts';

interface ListedContext {
  name: string;
  current: boolean;
  url: string;
}

/**
 * Adds a context for each node under its name, with a number appended while another demo uses that name. At the end they are
 * removed, and the previous context is current again. Returns the names in the order of the nodes.
 */
export const addContexts = async (owner: Owner, nodes: readonly TestNode[]): Promise<string[]> =>
  // Two demos that start at the same time must not both find a name free.
  withLock(join(tmpdir(), `mfd-demo-${process.getuid?.() ?? 0}.lock`), async () => {
    const before = await listContexts();
    const isFree = (suffix: string) => !before.some(({name}) => nodes.some(node => `${node.node_id}${suffix}` === name));
    let suffix = '';
    for (let n = 2; !isFree(suffix); n += 1) suffix = `-${n}`;

    const used = before.find(({current}) => current)?.name;
    owner.teardown(async () => useAgain(used));
    const names: string[] = [];
    for (const node of nodes) {
      const name = `${node.node_id}${suffix}`;
      owner.teardown(async () => removeContext(name, node));
      const {api_url, metrics_url, ca_file, api_key} = node;
      const where = ['--url', api_url, '--metrics-url', metrics_url, '--cacert', ca_file, '--api-key-file', '-'];
      await mfctl(['context', 'add', name, ...where], api_key);
      names.push(name);
    }
    return names;
  });

/** Does nothing if the name has been given to another node since. */
const removeContext = async (name: string, {api_url}: TestNode): Promise<void> => {
  const isOurs = (await listContexts()).some(context => context.name === name && context.url === api_url);
  if (isOurs) await mfctl(['context', 'remove', name]);
};

/** Does nothing if another context has become current since, or the previous one is gone. */
const useAgain = async (name: string | undefined): Promise<void> => {
  const contexts = await listContexts();
  if (name === undefined || contexts.some(({current}) => current)) return;
  if (contexts.some(context => context.name === name)) await mfctl(['context', 'use', name]);
};

const listContexts = async (): Promise<ListedContext[]> =>
  JSON.parse((await mfctl(['context', 'list', '-o', 'json'])).stdout) as ListedContext[];

const mfctl = async (args: string[], input = ''): Promise<Ran> => {
  const ran = await run(mfctlFile, args, {input});
  if (ran.code === 0) return ran;
  const detail = /"detail": "(.*)"/.exec(ran.stderr)?.[1] ?? ran.stderr.trim();
  throw new Error(`mfctl ${args.slice(0, 2).join(' ')}: ${detail}`);
};
