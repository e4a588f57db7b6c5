// Giving out what lets one more node in.
import {randomBytes} from 'node:crypto';
import {relayText} from '../../../shared/audit-relay.ts';
import {Fault} from '../../../shared/fault.ts';
import type {Actor, ConfigStore} from '../ports.ts';
import {actorToRelay} from '../quarantine/peer-hold-protocol.ts';
import {validate} from '../validate.ts';
import type {Authorities, Authority} from './authority.ts';
import {type CreatedToken, createdTokenSchema, passedOrderSchema, tokenOrderSchema} from './join-protocol.ts';
import type {NodeDirectory} from './node-directory.ts';
import type {PeerActors} from './peer-actors.ts';

export interface JoinTokens {
  /** A token from this node or, if that is not for it to give, from the one whose it is. */
  create(actor: Actor, body: unknown): Promise<CreatedToken>;
  /** One that a caller of another node has asked for; a Fault when the key is not known here to be good for that. */
  createFor(peer: {nodeId: string}, body: unknown): Promise<CreatedToken>;
}

interface Needs {
  configuration: ConfigStore;
  authorities: Authorities;
  directory: NodeDirectory;
  actors: PeerActors;
  /** Whether a token is for this cluster; may throw for what is none. */
  isOurs(token: string): boolean;
  nodeNo: number;
  now: () => number;
}

interface Order {
  expiresInS: number;
  actor: Pick<Actor, 'keyId' | 'remoteAddress'>;
  /** For the audit: what comes before the rest. */
  detail: string;
}

const keptMs = 30 * 24 * 3600 * 1000;
/** A token that has expired still gets its bearer past the handshake, to be told so. */
const graceMs = 24 * 3600 * 1000;
const answerMs = 5000;

export const createJoinTokens = (needs: Needs): JoinTokens => {
  const {configuration, authorities, directory, actors, isOurs, nodeNo, now} = needs;
  const issue = async (authority: Authority, {expiresInS, actor, detail}: Order): Promise<CreatedToken> => {
    const address = directory.findByNo(nodeNo)?.cluster_url?.replace(/^https:\/\//, '');
    if (address === undefined) throw new Fault('unavailable', 'this node is still starting; try again', {retryAfterSeconds: 5});
    const id = randomBytes(12).toString('hex');
    const expiresMs = now() + expiresInS * 1000;
    const expires_at = new Date(expiresMs).toISOString();
    const token = await authority.issueToken({id, endMs: expiresMs + graceMs, address});
    await configuration.change(async tx => {
      await tx.trust.forgetJoinTokens(new Date(now() - keptMs).toISOString());
      await tx.trust.insertJoinToken({id, created_at: new Date(now()).toISOString(), expires_at, used_at: null});
      await tx.audit(actor, 'cluster.token', id, `${detail}until ${expires_at}`);
    });
    return {token, expires_at, address, ca_fingerprint: authority.fingerprint};
  };

  return {
    async create(actor, body) {
      const {expires_in_s} = validate(tokenOrderSchema, body);
      const holders = await authorities.holders();
      const holder = holders.find(({id}) => mayAdmit(id, holders));
      if (!holder) throw nobodyHasTheKey();
      if (holder.id === nodeNo) {
        const own = await authorities.own();
        if (own) return issue(own, {expiresInS: expires_in_s, actor, detail: ''});
      }
      const peer = authorities.peer(holder.id);
      if (!peer) throw nobodyHasTheKey();
      return ask(peer, {expires_in_s, actor: actorToRelay(actor)});
    },

    async createFor({nodeId}, body) {
      const {expires_in_s, actor: relayed} = validate(passedOrderSchema, body);
      const own = await authorities.own();
      if (!own) throw nobodyHasTheKey();
      const holders = await authorities.holders();
      const first = holders.find(({id}) => mayAdmit(id, holders));
      if (first && first.id !== nodeNo) throw elsewhere(first.node_id);
      // That a node asks is not enough: it would be all that is needed to let any number of others in.
      const actor = await actors.admit(relayed, 'cluster:write', {nodeId});
      return issue(own, {expiresInS: expires_in_s, actor, detail: `${relayText(nodeId)}; `});
    },
  };

  async function ask({nodeId, client}: NonNullable<ReturnType<Authorities['peer']>>, body: object): Promise<CreatedToken> {
    try {
      const created = await client.ask(createdTokenSchema, {method: 'POST', path: 'tokens', body, deadlineMs: answerMs});
      // A node that has fallen into other hands must not lead new ones into a cluster of its own.
      if (!isOurs(created.token)) throw new Error(`the token that node ${nodeId} has made is not for this cluster`);
      return created;
    } catch (error) {
      // A token nobody has heard of harms nobody: asking again is safe, whatever became of this one.
      if (error instanceof Fault && (error.code === 'node_unreachable' || error.code === 'outcome_unknown'))
        throw elsewhere(nodeId, error);
      throw error;
    }
  }
};

/**
 * Node numbers are never given twice, so one node alone gives them: of those that have the CA key the one that joined first.
 * When it is gone for good, removing it makes the next one the first.
 */
export const mayAdmit = (nodeNo: number, holders: readonly {id: number}[]): boolean => holders[0]?.id === nodeNo;

const elsewhere = (nodeId: string, cause?: unknown): Fault =>
  new Fault(
    'unavailable',
    `only node ${nodeId} can let nodes in, and it does not answer; start it, or, if it is gone for good, put its tls/ca.key into tls/ of another node, restart that one, and remove ${nodeId}`,
    {cause, retryAfterSeconds: 5},
  );

const nobodyHasTheKey = (): Fault =>
  new Fault(
    'unavailable',
    'no node that answers has the key of the cluster’s authority; start the node that has tls/ca.key, or put that file into tls/ of a node and restart it',
    {retryAfterSeconds: 5},
  );
