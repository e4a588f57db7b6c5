// Which contexts hold a key. The node tells only how a key begins, and a key must never be given to another cluster.
import type {ApiKey} from '../../shared/api-key.ts';
import type {Client} from '../client/client.ts';
import {apiUrl, type Connection} from '../client/connection.ts';
import type {ContextStore} from '../context/context-store.ts';

export interface KeyHolders {
  contexts: string[];
  /** Whose key begins alike, at an address that is not known to be of this cluster. */
  doubtful: string[];
}

interface Needs {
  client: Client;
  connection: Connection;
  contexts: Pick<ContextStore, 'read' | 'keyOf'>;
}

/** A shorter beginning could be that of any key, and so could the address that a node tells of. `isOwn`: the key is the one that `client` asks with, so all of it can be compared. */
export const findKeyHolders = async (needs: Needs, {key_prefix}: ApiKey, isOwn: boolean): Promise<KeyHolders> => {
  const {keyPrefixLength} = await import('../../shared/api-key-value.ts');
  const {contexts} = await needs.contexts.read();
  const alike: {name: string; url: string; isSame: boolean}[] = [];
  for (const {name, url} of contexts) {
    const key = await needs.contexts.keyOf(name);
    if (key?.startsWith(key_prefix) && key_prefix.length >= keyPrefixLength)
      alike.push({name, url, isSame: isOwn && key === needs.connection.apiKey});
  }

  const here = needs.connection.baseUrl.href;
  const isNear = ({url, isSame}: {url: string; isSame: boolean}) => isSame || hrefOf(url) === here;
  const known = alike.every(isNear) ? new Set<string>() : await addressesOf(needs.client);
  const isHolder = (context: (typeof alike)[number]) => isNear(context) || known.has(hrefOf(context.url));
  return {
    contexts: alike.filter(isHolder).map(({name}) => name),
    doubtful: alike.filter(context => !isHolder(context)).map(({name}) => name),
  };
};

/** Where the nodes of the cluster serve their API, as they tell each other. */
const addressesOf = async (client: Client): Promise<Set<string>> => {
  const {data} = await client.cluster.status();
  return new Set(data.peers.flatMap(({api_url}) => api_url ?? []).map(hrefOf));
};

/** What is no address stays text: configuration is edited by hand, and this is no place to complain of it. */
const hrefOf = (url: string): string => {
  try {
    return apiUrl(url).href;
  } catch {
    return url;
  }
};
