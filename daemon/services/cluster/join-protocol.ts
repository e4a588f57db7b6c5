// What a node says to the one that lets it in, and to the one that renews its certificates.

import {isIPv6} from 'node:net';
import {z} from 'zod';
import {nodeId, timestamp} from '../../../shared/fields.ts';
import {formatHostPort, parseHostPort} from '../../../shared/host-port.ts';
import {relayedActorSchema} from '../quarantine/peer-hold-protocol.ts';
import {nodeNo} from './peer-protocol.ts';

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
  /** Certificate requests (PKCS #10, PEM): only their keys are looked at. */
  node_csr: pem,
  api_csr: pem,
  /** What clients may call the node. */
  api_hosts: z.array(host).min(1).max(32),
};

/** POST /certificates: who asks is known from the certificate it asks with. */
export const certificateRequestsSchema = z.object(requestsShape);
export type CertificateRequests = z.infer<typeof certificateRequestsSchema>;

export const certificatesSchema = z.object({node_cert: pem, api_cert: pem});
export type Certificates = z.infer<typeof certificatesSchema>;

/** POST /join, asked with the certificate that is in a token. */
export const joinRequestSchema = z.object({
  node_id: nodeId,
  fqdn: host,
  cluster_url: url,
  api_url: url,
  version: z.string().max(50),
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

/** POST /tokens: a node without the CA key passes on what one of its callers asked for. */
export const passedOrderSchema = z.object({
  ...tokenOrderSchema.shape,
  actor: relayedActorSchema,
});
