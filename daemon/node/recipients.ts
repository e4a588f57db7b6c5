// Digests and links for recipients, wired to the store, the other nodes and the backends.
import {createHash} from 'node:crypto';
import {createPeerDigestSource, createPeerLinkOwner} from '../cluster/peer-recipients.ts';
import type {Peer, Peers} from '../cluster/peers.ts';
import type {BackendPool} from '../mail/backend/backend-pool.ts';
import {createDeliver, type DeliverNeeds} from '../mail/backend/deliver.ts';
import {createDigestTransport} from '../mail/digest-mail.ts';
import type {CommonStore} from '../services/common-store.ts';
import type {Domains} from '../services/domains/domains.ts';
import {signingDomain} from '../services/domains/signing-domain.ts';
import {routeFor} from '../services/intake/intake.ts';
import type {Quarantine} from '../services/quarantine/quarantine.ts';
import type {HoldQueue} from '../services/quarantine/stored-mail.ts';
import {createDigestActions} from '../services/recipients/digest-actions.ts';
import type {DigestSource} from '../services/recipients/digest-model.ts';
import {createDigestSender} from '../services/recipients/digest-sender.ts';
import {createDigestSource} from '../services/recipients/digest-source.ts';
import type {RecipientLink} from '../services/recipients/digest-store.ts';
import {createLinkOwner} from '../services/recipients/link-owner.ts';
import {createLinks, createRemoteOwners} from '../services/recipients/links.ts';
import type {Base} from './base.ts';
import type {Job} from './jobs.ts';
import {graceMs} from './listen.ts';
import {enabledDigests, watchDigests, watchPages} from './recipient-problems.ts';

interface Needs extends Pick<DeliverNeeds, 'sign'> {
  pool: BackendPool;
  peers: Peers;
  queue: Pick<HoldQueue, 'act'>;
  quarantine: Pick<Quarantine, 'act'>;
  domains: Pick<Domains, 'get'>;
}

export const openRecipients = (base: Base, needs: Needs) => {
  const {settings, storage, records} = base;
  watchPages(base);
  const {source, sender, jobs} = openDigests(base, needs);
  return {
    digestSource: source,
    digestActions: createDigestActions({
      ...{store: storage.store, configuration: records.configuration, domains: needs.domains, sender},
      pages: () => settings().recipients,
    }),
    ...openLinks(base, needs),
    jobs,
    stopDigests: async () => sender.stop(AbortSignal.timeout(graceMs)),
  };
};

const everyMs = 15_000;

const openDigests = (
  {settings, storage, records, metrics, dependencies, log, now}: Base,
  {pool, sign, peers}: Pick<Needs, 'pool' | 'sign' | 'peers'>,
) => {
  const {store, engine, nodeId, nodeNo} = storage;
  const {domainDirectory: domains, nodeDirectory, membership, peerStates} = records;
  const from = () => settings().recipients.from;
  const ofSource = {nodeNo, domains, from, now};
  const source = createDigestSource({...ofSource, nodeId, store});
  /** Those that can send, as far as this node knows. */
  const able = () =>
    nodeDirectory.list().filter(node => {
      if (node.id === nodeNo) return settings().recipients.url !== undefined;
      return peerStates.healthOf(node) === 'online' && typeof peerStates.latest(node.id)?.recipients_url === 'string';
    });

  const remote = followPeers<DigestSource>(peers, createPeerDigestSource);
  const sources = async (): Promise<DigestSource[]> => {
    if (engine.kind !== 'common')
      return nodeDirectory
        .list()
        .toSorted((one, other) => one.id - other.id)
        .flatMap(({id}) => (id === nodeNo ? source : (remote.get(id) ?? [])));
    // All mail is in the one store, also that of nodes that are away or were removed.
    const {store: common} = engine;
    return (await common.heldQuery.holdingNodes()).map(id => createDigestSource({...ofSource, nodeId: id, store: common.of(id)}));
  };

  const isChosen = (domainId: number) => chosenOf(domainId, able()) === nodeNo;
  const troubles = watchDigests({
    ...{dependencies, now},
    sentHere: async id => (isChosen(id) ? (await enabledDigests(store.config, [id]))[0] : undefined),
  });
  const sender = createDigestSender({
    ...{nodeId, store, domains, sources, isChosen, now},
    transport: createDigestTransport({
      deliver: createDeliver({pool, ...(sign && {sign})}).deliver,
      routeTo: domain => routeFor({direction: 'inbound', domain}, undefined),
      signFor: address => signingDomain(domains, address),
      from,
      pagesUrl: () => settings().recipients.url,
    }),
    onResult: metrics.digest,
    onReport(domain, report) {
      troubles.report(domain, report);
      const {failure, refusal, isWaiting, sent, refused, bare, bareFor} = report;
      const detail = failure ?? refusal;
      if (detail !== undefined)
        log.warn({domain: domain.name, sent, refused, isWaiting, detail}, 'digests could not be delivered');
      if (bareFor !== undefined)
        log.warn({domain: domain.name, bare, detail: bareFor}, 'digests were refused, and sent without subjects and authors');
    },
    onError(error) {
      troubles.erred();
      log.error({err: error}, 'digests could not be sent; they are tried again');
    },
  });
  const job: Job = {
    everyMs,
    what: 'sending digests',
    run: async () => (membership.isRemoved() ? undefined : sender.send()),
  };
  return {source, sender, jobs: [job]};
};

/** Links that recipients open on this node, and those whose mail it has. */
const openLinks = (
  {storage, records, now}: Pick<Base, 'storage' | 'records' | 'now'>,
  needs: Pick<Needs, 'peers' | 'queue' | 'quarantine'>,
) => {
  const {store, engine, nodeId, nodeNo} = storage;
  const linkOwner = createLinkOwner({nodeId, store, queue: needs.queue, now});
  const remote = createRemoteOwners({owners: followPeers(needs.peers, createPeerLinkOwner), ...records});
  /** In the store that all nodes share. Mail in the Postfix of another node is that node's. */
  const commonOwner = async (common: CommonStore, {node_id: id = '', queue_id: queueId}: RecipientLink) => {
    const scoped = common.of(id);
    const mail = id === nodeId ? undefined : await scoped.hold.find(queueId);
    if (mail?.keeper === 'postfix') {
      const no = records.nodeDirectory.findById(id)?.id;
      return no === undefined ? undefined : remote(no);
    }
    return createLinkOwner({
      ...{nodeId: id, store: scoped, now},
      queue: {
        act: async (action, queue_id, actor, recipients) =>
          needs.quarantine.act(actor, action, {node_id: id, queue_id, ...(recipients && {recipients: [...recipients]})}),
      },
    });
  };
  const links = createLinks(async ({nodeNo: no, hash}) => {
    if (engine.kind !== 'common') return no === nodeNo ? linkOwner : remote(no);
    const link = await store.digests.link(hash);
    return link && commonOwner(engine.store, link);
  });
  return {linkOwner, links};
};

/** Those of the current peers, by node number. */
const followPeers = <Part>(peers: Peers, create: (client: Peer['client']) => Part): ReadonlyMap<number, Part> => {
  const parts = new Map<number, Part>();
  peers.follow(({nodeNo, client}) => {
    parts.set(nodeNo, create(client));
    return () => void parts.delete(nodeNo);
  });
  return parts;
};

/** The same on every node that knows the same nodes, and another one for each domain. */
const chosenOf = (domainId: number, nodes: readonly {id: number}[]): number | undefined => {
  const weighed = nodes.map(({id}) => ({id, weight: createHash('sha256').update(`${domainId} ${id}`).digest('hex')}));
  return weighed.toSorted((one, other) => (one.weight < other.weight ? 1 : -1))[0]?.id;
};
