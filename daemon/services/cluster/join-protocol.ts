// Messages of a node that joins the cluster or renews its certificates, and the answers.

import {isIPv6} from 'node:net';
import {z} from 'zod';
import {nodeId, timestamp} from '../../../shared/fields.ts';
import {formatHostPort, parseHostPort} from '../../../shared/host-port.ts';
import {relayedActorSchema} from '../actor.ts';
import {get, nodeNo, post} from './peer-protocol.ts';

const pem = z.string().max(16_384);

/** Whether a certificate may be for this name or address. */
export const isCertifiable = (host: string): boolean =>
  host.length <= 253 && ((isIPv6(host) && !host.includes('%')) || parseHostPort(formatHostPort({host, port: 1})) !== undefined);

const host = z.string().refine(isCertifiable, 'must be a host name or an address');
const url = z
  .string()
  .max(300)
  .refine(text => parseHostPort(text.replace(/^https:\/\//, '')) !== undefined, 'must be https://HOST:PORT');

const requestsShape = {
  /** Certificate requests (PKCS #10, PEM). Only their public keys are used. */
  node_csr: pem,
  api_csr: pem,
  /** Names and addresses that clients may use for the node. */
  api_hosts: z.array(host).min(1).max(32),
};

/** POST /certificates: the client certificate of the connection identifies the node. */
const certificateRequestsSchema = z.object(requestsShape);
export type CertificateRequests = z.infer<typeof certificateRequestsSchema>;

const certificatesSchema = z.object({node_cert: pem, api_cert: pem});
export type Certificates = z.infer<typeof certificatesSchema>;

/** GET /join, sent with the client certificate from a join token: what a node has to know before it asks to be admitted. */
const joinTermsSchema = z.object({
  /** The `store.url` that all nodes share; null when every node has a store of its own. */
  store_url: z.string().max(4096).nullable(),
});
export type JoinTerms = z.infer<typeof joinTermsSchema>;

/** POST /join, sent with the client certificate from a join token. */
export const joinRequestSchema = z.object({
  node_id: nodeId,
  fqdn: host,
  cluster_url: url,
  api_url: url,
  version: z.string().max(50),
  /** A version before 0.7 does not say it. */
  store: z.enum(['own', 'shared']).default('own'),
  /** See the heartbeat. */
  kinds: z.array(z.string().max(64)).max(100).optional(),
  ...requestsShape,
});
export type JoinRequest = z.infer<typeof joinRequestSchema>;

export const joinAnswerSchema = z.object({...certificatesSchema.shape, node_no: nodeNo});
export type JoinAnswer = z.infer<typeof joinAnswerSchema>;

/** Body of POST /cluster/tokens, all of it optional. */
export const tokenOrderSchema = z
  .strictObject({
    expires_in_s: z
      .int()
      .min(60, 'must be at least 60')
      .max(86_400, 'must be at most 86400')
      .default(3600)
      .meta({description: 'How long the token is valid'}),
  })
  .meta({id: 'CreateJoinToken'});

export const createdTokenSchema = z
  .object({
    token: z.string().max(4096).meta({description: 'What `mfd join` takes; it admits one node'}),
    expires_at: timestamp,
    address: z.string().meta({description: 'Where the new node asks to be admitted'}),
    ca_fingerprint: z.string().meta({description: 'SHA-256 of the certificate of the cluster’s authority'}),
  })
  .meta({id: 'JoinToken'});
export type CreatedToken = z.infer<typeof createdTokenSchema>;

/** POST /tokens: a node without the CA key relays the request of one of its callers. */
const passedOrderSchema = z.object({
  ...tokenOrderSchema.shape,
  actor: relayedActorSchema,
});

export type PassedOrder = z.output<typeof passedOrderSchema>;

export const joinMessages = {
  /** These two with the client certificate from a join token. */
  terms: get('join', joinTermsSchema),
  join: post('join', joinRequestSchema, joinAnswerSchema),
  tokens: post('tokens', passedOrderSchema, createdTokenSchema),
  certificates: post('certificates', certificateRequestsSchema, certificatesSchema),
};
