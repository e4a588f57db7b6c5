// Test of a domain: asks its backends, the scanner and DNS whether mail of the domain will work.

import {decidingSteps} from '../../../shared/deciding-steps.ts';
import type {Domain} from '../../../shared/domain.ts';
import type {DnsRecord, DomainDns} from '../../../shared/domain-dns.ts';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import type {DomainTest, TestState, TestStep} from '../../../shared/domain-test.ts';
import {Fault} from '../../../shared/fault.ts';
import {formatHostPort, type HostPort, parseHostPort} from '../../../shared/host-port.ts';
import type {Actor} from '../actor.ts';
import type {Domains} from '../domains/domains.ts';
import type {DnsView} from './domain-dns.ts';

export interface DomainTests {
  /** Throws a Fault `not_found` for a domain outside the actor's access scope, and `unavailable` while too many tests run. */
  run(actor: Actor, domainId: number, options: {isConnectionOnly: boolean}): Promise<DomainTest>;
}

type Examined = Omit<TestStep, 'part' | 'name'>;

interface Needs {
  domains: Pick<Domains, 'get'>;
  dns: DnsView;
  nodeId: string;
  /** Neither rejects, and both are bounded in time. Without a recipient the examination ends after EHLO. */
  examine(server: HostPort, recipient?: string): Promise<Examined[]>;
  connect(server: HostPort): Promise<Examined>;
  smarthost(): HostPort | undefined;
  /** Why the scanner does not work; undefined when it does. */
  scannerFault(): Promise<string | undefined>;
  isMailRefusedUnscored(): boolean;
}

/** Each opens connections to all backends of a domain. */
const maxTests = 8;

export const createDomainTests = (needs: Needs): DomainTests => {
  let underWay = 0;
  return {
    async run(actor, domainId, {isConnectionOnly}) {
      const domain = needs.domains.get(actor, domainId);
      if (underWay >= maxTests)
        throw new Fault('unavailable', 'too many domains are being tested; try again in a few seconds', {retryAfterSeconds: 5});
      underWay += 1;
      try {
        const parts = isConnectionOnly
          ? [connections(needs, domain)]
          : [routes(needs, domain), scanner(needs), needs.dns.of(actor, domainId, {isChecked: true}).then(dns => dnsSteps(dns))];
        const steps = [...domainSteps(domain), ...(await Promise.all(parts)).flat()];
        return {domain: domain.name, node_id: needs.nodeId, works: decidingSteps(steps).length === 0, steps};
      } finally {
        underWay -= 1;
      }
    },
  };
};

const domainSteps = ({name, active}: Domain): TestStep[] =>
  active
    ? []
    : [{part: 'domain', name, step: 'active', state: 'failed', detail: 'the domain is inactive: its mail is answered 450'}];

const serversOf = ({backend_servers, direction}: Domain): HostPort[] =>
  direction === 'outbound' ? [] : backend_servers.flatMap(text => parseHostPort(text) ?? []);

const connections = async (needs: Needs, domain: Domain): Promise<TestStep[]> =>
  Promise.all(
    serversOf(domain).map(async server => ({
      ...{part: 'backend' as const, name: formatHostPort(server)},
      ...(await needs.connect(server)),
    })),
  );

const routes = async (needs: Needs, domain: Domain): Promise<TestStep[]> => {
  const backends = serversOf(domain).map(async server => {
    const steps = await needs.examine(server, `postmaster@${domain.name}`);
    return steps.map(step => ({part: 'backend' as const, name: formatHostPort(server), ...step}));
  });
  return (await Promise.all([...backends, ...(domain.direction === 'inbound' ? [] : [smarthost(needs)])])).flat();
};

const smarthost = async (needs: Needs): Promise<TestStep[]> => {
  const server = needs.smarthost();
  const part = 'smarthost' as const;
  if (!server)
    return [{part, name: '', step: 'connection', state: 'failed', detail: 'no smtp.smarthost: outbound mail is answered 550'}];
  return (await needs.examine(server)).map(step => ({part, name: formatHostPort(server), ...step}));
};

const scanner = async (needs: Needs): Promise<TestStep[]> => {
  const fault = await needs.scannerFault();
  const step = {part: 'scanner', name: '', step: 'answer'} as const;
  if (fault === undefined) return [{...step, state: 'ok', detail: ''}];
  return needs.isMailRefusedUnscored()
    ? [{...step, state: 'failed', detail: `${fault}: mail is answered 451`}]
    : [{...step, state: 'warning', detail: `${fault}: mail passes without a score`}];
};

const dnsSteps = ({records}: DomainDns): TestStep[] =>
  records.map(record => ({part: 'dns', name: record.name, step: record.kind, state: stateOf(record), detail: adviceOn(record)}));

/** Keys are too long to be read: `domain dns` prints them. */
const maxWantedChars = 200;

/** `no MX record; wanted: mx1.example.net` */
const adviceOn = ({kind, type, state, values, detail}: DnsRecord): string => {
  if (state === 'right') return '';
  const found = detail === '' ? (state ?? '') : `${state}: ${detail}`;
  const wanted = (kind === 'mx' ? values.map(exchangerOf) : values).join(', ');
  if (state === 'unknown' || wanted === '' || wanted.length > maxWantedChars) return found;
  return `${state === 'missing' ? `no ${kind === 'mx' ? type : kind.toUpperCase()} record` : found}; wanted: ${wanted}`;
};

/**
 * Other records matter to those who get mail of the domain. Where no node has a name that DNS could have, there is nothing that MX could
 * be compared with.
 */
const stateOf = ({kind, state, values, found}: DnsRecord): TestState => {
  if (state === 'right') return 'ok';
  const nodes = values.map(exchangerOf).filter(name => canonicalDomain(name) !== undefined);
  if (kind !== 'mx' || state === 'unknown' || nodes.length === 0) return 'warning';
  return found.some(text => nodes.includes(exchangerOf(text))) ? 'warning' : 'failed';
};

/** `mx1.example.net` of `10 mx1.example.net.` */
const exchangerOf = (text: string): string => text.replace(/^\d+ /, '').replace(/\.$/, '').toLowerCase();
