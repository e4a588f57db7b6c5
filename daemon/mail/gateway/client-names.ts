// Names of clients from DNS that are confirmed: the address leads to the name, and the name back to the address (RFC 8601 section
// 2.7.3, "iprev"). Everybody may give their own address any name; without the way back, a stranger is `mail.google.com`.
import {Resolver} from 'node:dns/promises';
import {isIPv4} from 'node:net';
import {canonicalHost, isLoopback} from '../../../shared/host-port.ts';

export interface ClientNames {
  /** The first name of the address that leads back to it; undefined when there is none. Never rejects. */
  find(ip: string): Promise<string | undefined>;
}

interface Needs {
  /** Name servers as `HOST:PORT`, instead of the system's. */
  servers?: readonly string[];
}

/** As many as RFC 7208 section 4.6.4 has a mail server ask for: both numbers are the stranger's to choose. */
const maxNames = 10;
const maxAddresses = 100;

/** Two tries of a second: the gateway waits for 1.5 s, and what nobody waits for any more should end soon. */
const queries = {timeout: 1000, tries: 2};

/** The names are asked for in DNS and nowhere else: the system's own lookup occupies a thread that the database needs. */
export const createClientNames = ({servers}: Needs = {}): ClientNames => {
  const resolver = new Resolver(queries);
  if (servers) resolver.setServers(servers);

  const namesOf = async (address: string): Promise<string[]> => {
    const names = await resolver.reverse(address);
    return names.filter(name => hostName.test(name)).slice(0, maxNames);
  };
  const leadsTo = async (name: string, address: string): Promise<boolean> => {
    const addresses = await (isIPv4(address) ? resolver.resolve4(name) : resolver.resolve6(name));
    return addresses.slice(0, maxAddresses).some(one => canonicalHost(one) === address);
  };

  return {
    async find(ip) {
      const address = canonicalHost(ip);
      // RFC 6761 section 6.3: that name leads there by definition, and name servers need not know it.
      if (isLoopback(address)) return 'localhost';
      const names = await namesOf(address).catch(() => []);
      const confirmed = await Promise.all(names.map(name => leadsTo(name, address).catch(() => false)));
      return names.find((_, n) => confirmed[n]);
    },
  };
};

/** A label in DNS may be made of any bytes. */
const hostName = /^[a-z0-9_][a-z0-9_.-]{0,252}$/i;
