// Hosts with addresses of their own: network namespaces on one bridge. Packets between two hosts can be dropped, also in one
// direction only.
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import type {Owner} from './daemon.ts';
import {systemPath} from './installed.ts';

const execute = promisify(execFile);
const ip = async (...args: string[]) => execute('/sbin/ip', args);

export interface Host {
  /** IPv4. */
  address: string;
  /**
   * Begins the command line of a program that runs on this host. Not `ip netns exec`: that also creates a mount namespace, which
   * keeps disks of other tests busy that are unmounted meanwhile.
   */
  within: string[];
}

interface Loss {
  from: string;
  to: string;
  /** Only TCP packets to this port of `to`; all packets when left out. */
  port?: number;
}

export interface Network<Name extends string = string> {
  hosts: Record<Name, Host>;
  /** The address on this network of the machine that runs the tests, the host `tests`. */
  address: string;
  /** From now on such packets are dropped silently. */
  lose(...losses: Loss[]): Promise<void>;
  /** Drops all packets between the two hosts, in both directions. */
  cut(one: string, other: string): Promise<void>;
  /** Stops all packet loss. */
  heal(): Promise<void>;
}

/** Maximum number of networks at once on one machine. */
const most = 200;

export const startNetwork = async <Name extends string>(owner: Owner, names: readonly Name[]): Promise<Network<Name>> => {
  const no = await addBridge(owner);
  const address = `10.213.${no}.1`;
  await ip('addr', 'add', `${address}/24`, 'dev', bridgeOf(no));
  await ip('link', 'set', bridgeOf(no), 'up');

  const hosts = new Map<string, Host>();
  for (const [at, name] of names.entries()) {
    const space = `mfd-test-${no}-${at}`;
    const wire = `mfd${no}w${at}`;
    await ip('netns', 'add', space);
    owner.teardown(async () => void (await ip('netns', 'del', space)));
    await ip('link', 'add', wire, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
    // If it were deleted with its namespace, it would disappear some time later, when another network may have its name.
    owner.teardown(async () => void (await ip('link', 'del', wire)));
    await ip('link', 'set', wire, 'master', bridgeOf(no), 'up');
    const host = {address: `10.213.${no}.${at + 10}`, within: ['nsenter', `--net=/run/netns/${space}`]};
    hosts.set(name, host);
    await ip('-n', space, 'addr', 'add', `${host.address}/24`, 'dev', 'eth0');
    await ip('-n', space, 'link', 'set', 'lo', 'up');
    await ip('-n', space, 'link', 'set', 'eth0', 'up');
    await nft(host, 'add table inet lost; add chain inet lost in { type filter hook input priority 0; }');
    await nft(host, 'add chain inet lost out { type filter hook output priority 0; }');
  }

  const hostOf = (name: string): Host => {
    const host = hosts.get(name);
    if (!host) throw new Error(`no host ${name}`);
    return host;
  };
  const addressOf = (name: string) => (name === 'tests' ? address : hostOf(name).address);
  const lose = async ({from, to, port}: Loss) => {
    const what = port === undefined ? '' : `tcp dport ${port} `;
    // Packets to the tests' host are dropped at the sender, as the tests' host has no rules of its own.
    if (to === 'tests') await nft(hostOf(from), `add rule inet lost out ip daddr ${address} ${what}drop`);
    else await nft(hostOf(to), `add rule inet lost in ip saddr ${addressOf(from)} ${what}drop`);
  };

  return {
    hosts: Object.fromEntries(hosts) as Record<Name, Host>,
    address,
    async lose(...losses) {
      for (const loss of losses) await lose(loss);
    },
    async cut(one, other) {
      await lose({from: one, to: other});
      await lose({from: other, to: one});
    },
    async heal() {
      for (const host of hosts.values()) await nft(host, 'flush chain inet lost in; flush chain inet lost out');
    },
  };
};

const bridgeOf = (no: number) => `mfdbr${no}`;

/** The port's number is the number of the network; no two processes get the same one. */
const addBridge = async (owner: Owner): Promise<number> => {
  for (let no = process.pid % most, tries = 1; ; no = (no + 1) % most, tries += 1)
    try {
      await ip('link', 'add', bridgeOf(no), 'type', 'bridge');
      owner.teardown(async () => void (await ip('link', 'del', bridgeOf(no))));
      return no;
    } catch (error) {
      if (!/File exists/.test(String(error)) || tries === most) throw error;
    }
};

// A package that npm puts into the PATH has a program of that name, too.
const nft = async ({within: [program = '', ...args]}: Host, rules: string) =>
  execute(program, [...args, 'nft', rules], {env: {PATH: systemPath}});

/** The reason why no such network can be created here: a missing right or program. Undefined where one can be created. */
export const networkMissing: string | undefined = await (async () => {
  const closers: (() => Promise<void> | void)[] = [];
  try {
    await startNetwork({teardown: close => void closers.unshift(close)}, ['one']);
    return undefined;
  } catch (error) {
    return `no network namespaces: ${String(error).split('\n')[0]}`;
  } finally {
    for (const close of closers) await close();
  }
})();
