// Links for recipients, on any node.
import {Fault} from '../../../shared/fault.ts';
import type {NodeDirectory} from '../cluster/membership.ts';
import type {PeerStates} from '../cluster/peer-states.ts';
import type {LinkAction, LinkDesk, LinkView} from './link-desk.ts';
import {hashOfToken, nodeNoIn} from './link-token.ts';

/** Each resolves with undefined for a token that is none, and rejects with a Fault when the node that has the mail is away. */
export interface Links {
  view(token: string): Promise<LinkView | undefined>;
  act(token: string, action: LinkAction, remoteAddress: string | null): Promise<LinkView | undefined>;
}

/** `deskOf`: where the mail of a link is; undefined when nobody knows the node, or the link. */
export const createLinks = (deskOf: (link: {nodeNo: number; hash: string}) => Promise<LinkDesk | undefined>): Links => {
  const ask = async (
    token: string,
    question: (desk: LinkDesk, hash: string) => Promise<LinkView | undefined>,
  ): Promise<LinkView | undefined> => {
    const nodeNo = nodeNoIn(token);
    if (nodeNo === undefined) return undefined;
    const hash = hashOfToken(token);
    const desk = await deskOf({nodeNo, hash});
    return desk && question(desk, hash);
  };
  return {
    view: async token => ask(token, async (desk, hash) => desk.view(hash)),
    act: async (token, action, remoteAddress) => ask(token, async (desk, hash) => desk.act(hash, action, remoteAddress)),
  };
};

interface RemoteNeeds {
  /** By node number. */
  desks: ReadonlyMap<number, LinkDesk>;
  nodeDirectory: Pick<NodeDirectory, 'findByNo'>;
  peerStates: Pick<PeerStates, 'healthOf'>;
}

/**
 * The desk of another node; undefined when there is no such node. Throws a Fault `node_unreachable` when no heartbeats come from it: to ask it
 * would take seconds each time.
 */
export const createRemoteDesks =
  ({desks, nodeDirectory, peerStates}: RemoteNeeds) =>
  (nodeNo: number): LinkDesk | undefined => {
    const node = nodeDirectory.findByNo(nodeNo);
    if (!node) return undefined;
    const desk = peerStates.healthOf(node) === 'online' ? desks.get(nodeNo) : undefined;
    if (!desk) throw new Fault('node_unreachable', 'the node that has the mail is away');
    return desk;
  };
