// Links for recipients, on any node.
import {Fault} from '../../../shared/fault.ts';
import type {NodeDirectory} from '../cluster/membership.ts';
import type {PeerStates} from '../cluster/peer-states.ts';
import type {LinkAction, LinkOwner, LinkView} from './link-owner.ts';
import {hashOfToken, nodeNoIn} from './link-token.ts';

/** Each resolves with undefined for a token that is none, and rejects with a Fault when the node that has the mail is away. */
export interface Links {
  view(token: string): Promise<LinkView | undefined>;
  act(token: string, action: LinkAction, remoteAddress: string | null): Promise<LinkView | undefined>;
}

/** `ownerOf`: where the mail of a link is; undefined when nobody knows the node, or the link. */
export const createLinks = (ownerOf: (link: {nodeNo: number; hash: string}) => Promise<LinkOwner | undefined>): Links => {
  const ask = async (
    token: string,
    question: (owner: LinkOwner, hash: string) => Promise<LinkView | undefined>,
  ): Promise<LinkView | undefined> => {
    const nodeNo = nodeNoIn(token);
    if (nodeNo === undefined) return undefined;
    const hash = hashOfToken(token);
    const owner = await ownerOf({nodeNo, hash});
    return owner && question(owner, hash);
  };
  return {
    view: async token => ask(token, async (owner, hash) => owner.view(hash)),
    act: async (token, action, remoteAddress) => ask(token, async (owner, hash) => owner.act(hash, action, remoteAddress)),
  };
};

interface RemoteNeeds {
  /** By node number. */
  owners: ReadonlyMap<number, LinkOwner>;
  nodeDirectory: Pick<NodeDirectory, 'findByNo'>;
  peerStates: Pick<PeerStates, 'healthOf'>;
}

/**
 * The owner of another node; undefined when there is no such node. Throws a Fault `node_unreachable` when no heartbeats come from it: to ask it
 * would take seconds each time.
 */
export const createRemoteOwners =
  ({owners, nodeDirectory, peerStates}: RemoteNeeds) =>
  (nodeNo: number): LinkOwner | undefined => {
    const node = nodeDirectory.findByNo(nodeNo);
    if (!node) return undefined;
    const owner = peerStates.healthOf(node) === 'online' ? owners.get(nodeNo) : undefined;
    if (!owner) throw new Fault('node_unreachable', 'the node that has the mail is away');
    return owner;
  };
