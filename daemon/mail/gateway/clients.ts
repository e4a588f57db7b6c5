// Clients of the gateway: how many at once, and their names.

import {Resolver} from 'node:dns/promises';
import {isIPv4} from 'node:net';
import {canonicalHost, isLoopback} from '../../../shared/host-port.ts';
import type {SmtpReply} from '../../services/intake/mail.ts';
import {replies} from '../smtp-reply.ts';

export interface ClientLimitNeeds {
  maxConnections: number;
  maxConnectionsPerClient: number;
  /** Trusted clients count towards the total only. */
  isTrusted(ip: string): boolean;
}

export const createClientLimits = ({maxConnections, maxConnectionsPerClient, isTrusted}: ClientLimitNeeds) => {
  const byClient = new Map<string, number>();
  let total = 0;

  return {
    /** The reply that refuses this client; undefined admits it and counts it until `leave`. */
    admit(ip: string): SmtpReply | undefined {
      const count = byClient.get(ip) ?? 0;
      if (total >= maxConnections) return replies.tooManyConnections;
      if (count >= maxConnectionsPerClient && !isTrusted(ip)) return replies.tooManyFromClient;

      total += 1;
      byClient.set(ip, count + 1);
      return undefined;
    },
    leave(ip: string): void {
      const count = (byClient.get(ip) ?? 0) - 1;
      total -= 1;
      if (count > 0) byClient.set(ip, count);
      else byClient.delete(ip);
    },
  };
};

// Confirmed names of clients from DNS: the address resolves to the name, and the name back to the address (RFC 8601 section 2.7.3,
// "iprev"). Without the second lookup any client could call itself `mail.google.com`, as it controls the name of its own address.

export interface ClientNames {
  /** The first name of the address that resolves back to it; undefined when there is none. Never rejects. */
  find(ip: string): Promise<string | undefined>;
}

interface Needs {
  /** Name servers as `HOST:PORT`, instead of the system's. */
  servers?: readonly string[];
}

/** The limits of RFC 7208 section 4.6.4, as the client chooses how many names and addresses it has. */
const maxNames = 10;
const maxAddresses = 100;

/** Two attempts of one second: the gateway waits for 1.5 s, and a query should end soon after that. */
const queries = {timeout: 1000, tries: 2};

/** Queries DNS only: the lookup of the system would occupy a thread that the database needs. */
export const createClientNames = ({servers}: Needs = {}): ClientNames => {
  const resolver = new Resolver(queries);
  if (servers) resolver.setServers(servers);

  const namesOf = async (address: string): Promise<string[]> => {
    const names = await resolver.reverse(address);
    return names
      .filter(name => hostName.test(name))
      .slice(0, maxNames)
      .map(name => name.toLowerCase().replace(/\.$/, ''));
  };
  const leadsTo = async (name: string, address: string): Promise<boolean> => {
    const addresses = await (isIPv4(address) ? resolver.resolve4(name) : resolver.resolve6(name));
    return addresses.slice(0, maxAddresses).some(one => canonicalHost(one) === address);
  };

  return {
    async find(ip) {
      const address = canonicalHost(ip);
      // RFC 6761 section 6.3: the name resolves to loopback by definition, and name servers need not know it.
      if (isLoopback(address)) return 'localhost';
      const names = await namesOf(address).catch(() => []);
      const confirmed = await Promise.all(names.map(name => leadsTo(name, address).catch(() => false)));
      return names.find((_, n) => confirmed[n]);
    },
  };
};

/** A label in DNS may contain any bytes. */
const hostName = /^[a-z0-9_][a-z0-9_.-]{0,252}$/i;
