// Contexts that hold a key. The node reports only the beginning of a key, and a key must never be sent to another cluster.
import type {ApiKey} from '../../shared/api-key.ts';
import type {Client} from '../client/client.ts';
import {apiUrl, type Connection} from '../client/connection.ts';
import type {ContextStore} from '../files/context-store.ts';

interface KeyHolders {
  contexts: string[];
  /** Contexts whose key has the same beginning, at an address that is not known to belong to this cluster. */
  doubtful: string[];
}

interface Needs {
  client: Client;
  connection: Connection;
  contexts: Pick<ContextStore, 'read' | 'keyOf'>;
}

/** A shorter beginning could match any key, as could the addresses that a node claims. `isOwn`: the key is the one that `client` uses, so all of it can be compared. */
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

/** The API addresses of the cluster's nodes, as the cluster status lists them. */
const addressesOf = async (client: Client): Promise<Set<string>> => {
  const {data} = await client.cluster.status();
  return new Set(data.peers.flatMap(({api_url}) => api_url ?? []).map(hrefOf));
};

/** An invalid address stays text: configuration is edited by hand, and other code reports it. */
const hrefOf = (url: string): string => {
  try {
    return apiUrl(url).href;
  } catch {
    return url;
  }
};
