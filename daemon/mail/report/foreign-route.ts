// Route of a report to a domain that is not ours. Its owner chose the names, and may have chosen those of machines inside: so each name
// is looked up once, its address is judged, and that address is connected to.
import {isPublicAddress} from '../../../shared/public-address.ts';
import type {Route} from '../../services/intake/mail.ts';
import {noneIfMissing} from '../authentication/dmarc-lookups.ts';
import type {Lookup} from '../lookup.ts';

type ForeignRoute = Pick<Route, 'servers'> | 'no answer' | 'no mail' | 'no address' | 'not public';

const maxExchangers = 5;
/** Tried one after another. */
const maxAddresses = 5;

/** By its mail exchangers, or by its own addresses where it has none (RFC 5321 section 5.1). */
export const foreignRoute = async (domain: string, lookup: Lookup): Promise<ForeignRoute> => {
  // Such as `localhost`, of which resolvers do not agree on what there is.
  if (!domain.includes('.')) return 'not public';
  const exchangers = await exchangersOf(domain, lookup).catch(() => undefined);
  if (exchangers === undefined) return 'no answer';
  if (exchangers.length === 0) return 'no mail';
  const found = await Promise.allSettled(exchangers.slice(0, maxExchangers).map(async host => addressesOf(host, lookup)));
  const addresses = new Set(found.flatMap(one => (one.status === 'fulfilled' ? one.value : [])));
  if (addresses.size === 0) return found.some(({status}) => status === 'rejected') ? 'no answer' : 'no address';
  const usable = [...addresses].filter(isPublicAddress).slice(0, maxAddresses);
  return usable.length === 0 ? 'not public' : {servers: usable.map(host => ({host, port: 25}))};
};

/** Empty when it takes no mail: the exchanger `.` says so (RFC 7505). */
const exchangersOf = async (domain: string, lookup: Lookup): Promise<string[]> => {
  const found = (await lookup(domain, 'MX').catch(noneIfMissing)) as {exchange: string; priority: number}[];
  if (found.length === 0) return [domain];
  return found
    .toSorted((one, other) => one.priority - other.priority)
    .map(({exchange}) => exchange)
    .filter(host => host !== '' && host !== '.');
};

const addressesOf = async (host: string, lookup: Lookup): Promise<string[]> =>
  (await Promise.all((['A', 'AAAA'] as const).map(async type => lookup(host, type).catch(noneIfMissing)))).flat() as string[];
