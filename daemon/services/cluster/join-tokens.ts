// Join tokens, each of which admits one node to the cluster.

import {randomBytes} from 'node:crypto';
import {relayedDetail} from '../../../shared/audit-relay.ts';
import {Fault} from '../../../shared/fault.ts';
import {type Actor, actorToRelay, type PeerActors} from '../actor.ts';
import type {ConfigStore} from '../ports.ts';
import {validate} from '../validate.ts';
import type {Authorities, Authority} from './authority.ts';
import {type CreatedToken, joinMessages, type PassedOrder, tokenOrderSchema} from './join-protocol.ts';
import type {NodeDirectory} from './membership.ts';

export interface JoinTokens {
  /** Creates a token on the node that admits nodes: on this one, or by a request to that one. */
  create(actor: Actor, body: unknown): Promise<CreatedToken>;
  /** Creates a token for a caller of another node. Throws a Fault if, to this node's knowledge, the caller's key does not permit it. */
  createFor(peer: {nodeId: string}, order: PassedOrder): Promise<CreatedToken>;
}

interface Needs {
  configuration: ConfigStore;
  authorities: Authorities;
  directory: NodeDirectory;
  actors: PeerActors;
  /** Whether a token is for this cluster; may throw for an invalid token. */
  isOurs(token: string): boolean;
  nodeNo: number;
  now: () => number;
}

interface Order {
  expiresInS: number;
  actor: Pick<Actor, 'keyId' | 'remoteAddress'>;
  relayedBy?: string;
}

const retentionMs = 30 * 24 * 3600 * 1000;
/** The certificate in a token outlives it, so that the holder of an expired token gets an error message, not a failed handshake. */
const graceMs = 24 * 3600 * 1000;
const answerMs = 5000;

export const createJoinTokens = (needs: Needs): JoinTokens => {
  const {configuration, authorities, directory, actors, isOurs, nodeNo, now} = needs;
  const issue = async (authority: Authority, {expiresInS, actor, relayedBy}: Order): Promise<CreatedToken> => {
    const address = directory.findByNo(nodeNo)?.cluster_url?.replace(/^https:\/\//, '');
    if (address === undefined) throw new Fault('unavailable', 'this node is still starting; try again', {retryAfterSeconds: 5});
    const id = randomBytes(12).toString('hex');
    const expiresMs = now() + expiresInS * 1000;
    const expires_at = new Date(expiresMs).toISOString();
    const token = await authority.issueToken({id, endMs: expiresMs + graceMs, address});
    await configuration.change(async tx => {
      await tx.trust.forgetJoinTokens(new Date(now() - retentionMs).toISOString());
      await tx.trust.insertJoinToken({id, created_at: new Date(now()).toISOString(), expires_at, used_at: null});
      await tx.audit(actor, 'cluster.token', id, relayedDetail(relayedBy, `until ${expires_at}`));
    });
    return {token, expires_at, address, ca_fingerprint: authority.fingerprint};
  };

  return {
    async create(actor, body) {
      const {expires_in_s} = validate(tokenOrderSchema, body);
      const holders = await authorities.holders();
      const holder = holders.find(({id}) => mayAdmit(id, holders));
      if (!holder) throw noAuthority();
      if (holder.id === nodeNo) {
        const own = await authorities.own();
        if (own) return issue(own, {expiresInS: expires_in_s, actor});
      }
      const peer = authorities.peer(holder.id);
      if (!peer) throw noAuthority();
      return ask(peer, {expires_in_s, actor: actorToRelay(actor)});
    },

    async createFor({nodeId}, {expires_in_s, actor: relayed}) {
      const own = await authorities.own();
      if (!own) throw noAuthority();
      const holders = await authorities.holders();
      const first = holders.find(({id}) => mayAdmit(id, holders));
      if (first && first.id !== nodeNo) throw otherNodeAdmits(first.node_id);
      // The caller's key is checked here too: otherwise a node under an attacker's control could admit any number of nodes.
      const actor = await actors.admit(relayed, 'cluster:write', {nodeId});
      return issue(own, {expiresInS: expires_in_s, actor, relayedBy: nodeId});
    },
  };

  async function ask({nodeId, client}: NonNullable<ReturnType<Authorities['peer']>>, body: object): Promise<CreatedToken> {
    const {at, answer} = joinMessages.tokens;
    try {
      const created = await client.ask(answer, {...at, body, deadlineMs: answerMs});
      // A node under an attacker's control must not lead new nodes into another cluster.
      if (!isOurs(created.token)) throw new Error(`the token that node ${nodeId} has made is not for this cluster`);
      return created;
    } catch (error) {
      // Repeating is safe: a token that was created but never delivered does no harm.
      if (error instanceof Fault && (error.code === 'node_unreachable' || error.code === 'outcome_unknown'))
        throw otherNodeAdmits(nodeId, error);
      throw error;
    }
  }
};

/**
 * Whether a node admits new nodes. Node numbers must be unique, so a single node assigns them: the one with the CA key that joined first.
 * If it is gone for good, the operator removes it, and the next one becomes the first.
 */
export const mayAdmit = (nodeNo: number, holders: readonly {id: number}[]): boolean => holders[0]?.id === nodeNo;

const otherNodeAdmits = (nodeId: string, cause?: unknown): Fault =>
  new Fault(
    'unavailable',
    `only node ${nodeId} can let nodes in, and it does not answer; start it, or, if it is gone for good, put its tls/ca.key into tls/ of another node, restart that one, and remove ${nodeId}`,
    {cause, retryAfterSeconds: 5},
  );

const noAuthority = (): Fault =>
  new Fault(
    'unavailable',
    'no node that answers has the key of the cluster’s authority; start the node that has tls/ca.key, or put that file into tls/ of a node and restart it',
    {retryAfterSeconds: 5},
  );
