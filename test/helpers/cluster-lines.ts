// TCP proxies from every node to every other one, so that each direction can fail on its own.
import type {HostPort} from '../../shared/host-port.ts';
import type {Owner} from './daemon.ts';
import {type ProxyMode, startProxy, type TcpProxy} from './tcp-proxy.ts';

export interface Lines {
  /** The proxy through which `from` reaches `to`. */
  line(from: string, to: string): TcpProxy;
  /** For `cluster.routes` of a node's configuration. */
  routesOf(from: string): string[];
  /** Cuts all lines between two of these groups; the others stay as they are. */
  partition(groups: string[][], mode?: ProxyMode): void;
  /** Restores all lines to full speed. */
  heal(): void;
}

/** `addressOf` returns undefined for a node that has not been created yet. */
export const startLines = async (
  owner: Owner,
  names: string[],
  addressOf: (name: string) => HostPort | undefined,
): Promise<Lines> => {
  const lines = new Map<string, TcpProxy>();
  const pairs = names.flatMap(from => names.filter(to => to !== from).map(to => ({from, to})));
  for (const {from, to} of pairs) lines.set(`${from} ${to}`, await startProxy(owner, () => addressOf(to)));

  const line = (from: string, to: string): TcpProxy => {
    const found = lines.get(`${from} ${to}`);
    if (!found) throw new Error(`no line from ${from} to ${to}`);
    return found;
  };

  return {
    line,
    routesOf: from => names.filter(to => to !== from).map(to => `${to}=127.0.0.1:${line(from, to).port}`),
    partition(groups, mode = 'refuse') {
      const groupOf = (name: string) => groups.findIndex(group => group.includes(name));
      for (const {from, to} of pairs) {
        const [own, other] = [groupOf(from), groupOf(to)];
        if (own !== other && own >= 0 && other >= 0) line(from, to).setMode(mode);
      }
    },
    heal() {
      for (const one of lines.values()) {
        one.setMode('pass');
        one.delay(0);
        one.throttle(undefined);
      }
    },
  };
};
