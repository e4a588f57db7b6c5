// Listener of the pages for recipients.
import {createPagesApp} from '../http/recipients/pages-app.ts';
import type {Base} from './base.ts';
import {createConnections} from './connections.ts';
import {listenOf} from './free-addresses.ts';
import {type Listener, listenHttps} from './listen.ts';
import type {Services} from './services.ts';

export const openPages = async (
  {config, settings, trust, records, metrics, log}: Pick<Base, 'config' | 'settings' | 'trust' | 'records' | 'metrics' | 'log'>,
  {links}: Pick<Services, 'links'>,
): Promise<Listener | undefined> => {
  const {listen} = config.recipients;
  if (listen === undefined) return undefined;
  const connections = createConnections();
  const app = createPagesApp({
    links,
    isProxy: address => settings().recipients.proxies.contains(address),
    isRemoved: records.membership.isRemoved,
    noteLinkShown: ({socket}) => connections.trust(socket),
    onAnswer: metrics.page,
    log,
  });
  return listenHttps(listenOf(listen), {...trust.certificates.current().pages, connections}, app.callback());
};
