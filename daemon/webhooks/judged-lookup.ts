// Resolution of the names of webhooks. Each address is judged here, where a connection gets it, so it is the one that is connected to.
import {Resolver} from 'node:dns/promises';
import {readFile} from 'node:fs/promises';
import {isIP, type LookupFunction} from 'node:net';

/** Rejects when the name has no address. */
export type Resolve = (name: string) => Promise<string[]>;

/** Why an address is not connected to. */
export class AddressRefusal extends Error {
  override readonly name = 'AddressRefusal';
}

/** The codes for a name that has no address. */
const noAddress: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Asks /etc/hosts, then DNS, without the threads of the process: a name whose servers are mute must not delay disk and database, nor the
 * lookups of backends, which wait for each other.
 */
export const resolveName: Resolve = async name => {
  const listed = addressesInHosts(await readFile('/etc/hosts', 'utf8').catch(() => ''), name);
  if (listed.length > 0) return listed;
  const resolver = new Resolver({timeout: 2000, tries: 2});
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const failures = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason as NodeJS.ErrnoException] : []));
  const failure = failures.find(({code}) => !noAddress.has(code)) ?? failures[0];
  // No name server runs: the same code would tell that the receiver refused.
  if (failure?.code === 'ECONNREFUSED') throw Object.assign(new Error(name), {code: 'ETIMEOUT'});
  throw failure ?? Object.assign(new Error(name), {code: 'ENODATA'});
};

/** As in hosts(5). */
export const addressesInHosts = (hosts: string, name: string): string[] => {
  const wanted = name.toLowerCase().replace(/\.$/, '');
  return hosts.split('\n').flatMap(line => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) > 0 && names.includes(wanted) ? [address] : [];
  });
};

/** `refusalOf`: why an address must not be connected to. */
export const judgedLookup =
  (resolve: Resolve, refusalOf: (address: string) => string | undefined): LookupFunction =>
  (name, {all, family}, done) => {
    const find = async () => {
      const found = (await resolve(name)).filter(address => family === undefined || family === 0 || isIP(address) === family);
      const allowed = found.filter(address => refusalOf(address) === undefined);
      const refusal = found.map(refusalOf).find(text => text !== undefined);
      if (allowed.length === 0)
        throw refusal === undefined ? Object.assign(new Error(name), {code: 'ENOTFOUND'}) : new AddressRefusal(refusal);
      return allowed.map(address => ({address, family: isIP(address)}));
    };
    find().then(
      addresses => (all ? done(null, addresses) : done(null, addresses[0]?.address ?? '', addresses[0]?.family)),
      error => done(error as Error, []),
    );
  };
