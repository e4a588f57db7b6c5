// Settings of a node for the store that all nodes share.
import {isLoopback} from '../../shared/host-port.ts';
import type {LoadedConfig} from './load.ts';
import {parseStoreUrl, type StoreAddress} from './store-url.ts';

export interface StoreSettings extends StoreAddress {
  password?: string;
  /** PEM; without it, the authorities of the system. */
  ca?: string;
  hasTls: boolean;
  pool: number;
}

/** Undefined for a node with a store of its own. */
export const storeSettings = ({
  config: {store},
  storePassword,
  storeCa,
}: Pick<LoadedConfig, 'config' | 'storePassword' | 'storeCa'>): StoreSettings | undefined => {
  if (store.url === undefined) return undefined;
  const address = parseStoreUrl(store.url);
  const isSocket = address.host.startsWith('/');
  return {
    ...address,
    ...(storePassword !== undefined && {password: storePassword}),
    ...(storeCa !== undefined && {ca: storeCa}),
    // Only what never leaves this machine may go unencrypted.
    hasTls: !isSocket && (storeCa !== undefined || !isLoopback(address.host)),
    pool: store.pool,
  };
};
