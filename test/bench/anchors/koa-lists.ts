// Three bare Koa nodes, processes of their own, that list 100 rows each from memory and merge them.
import {type ChildProcess, fork} from 'node:child_process';
import {Agent} from 'node:https';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import type {Owner} from '../../helpers/daemon.ts';
import {createLister, type Lister} from '../lister.ts';
import type {KoaListOrder, ListRow} from './koa-list-main.ts';

const names = ['alpha', 'beta', 'gamma'];

/** `rowsOf` gives the rows of one node. */
export const startKoaLists = async (owner: Owner, rowsOf: (name: string) => ListRow[]): Promise<Lister[]> => {
  const authority = await createAuthority(Date.now());
  const nodes = await Promise.all(
    names.map(async name => {
      const pair = await issueLeaf(authority, {commonName: name, hosts: ['127.0.0.1'], uris: [`urn:bare:${name}`]}, Date.now());
      const child = fork(new URL('koa-list-main.ts', import.meta.url), {execArgv: ['--import=tsx'], stdio: 'inherit'});
      owner.teardown(() => void child.kill());
      const ports = await tell(child, {settings: {...pair, ca: authority.cert, rows: rowsOf(name)}});
      return {name, child, ports: ports as {api: number; cluster: number}};
    }),
  );
  for (const {name, child} of nodes)
    await tell(child, {peers: nodes.filter(other => other.name !== name).map(({ports}) => ports.cluster)});
  return nodes.map(({ports}) => {
    const agent = new Agent({keepAlive: true, ca: authority.cert});
    owner.teardown(() => agent.destroy());
    return createLister({agent, url: `https://127.0.0.1:${ports.api}/list`});
  });
};

const tell = async (child: ChildProcess, order: KoaListOrder): Promise<unknown> => {
  const answer = new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', code => reject(new Error(`a bare node ended with ${code}`)));
  });
  child.send(order);
  return answer;
};
