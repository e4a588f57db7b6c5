// Schemas of a node of the cluster. They are functions: only the description of the API needs them, and a node saves the memory.
import {z} from 'zod';
import {apiKeySchema} from './api-key.ts';
import {id, nodeId} from './fields.ts';

/** `GET /cluster/nodes/{node_id}`: a node of the cluster, with the keys that were created on it, by their own record. */
export const clusterNodeSchema = () =>
  z
    .strictObject({
      node_id: nodeId,
      node_no: z.int().meta({description: 'The first part of every id that is created on the node; never reused'}),
      fqdn: z.string(),
      joined_at: z.string(),
      shares_store: z.boolean().meta({
        description:
          'Whether the nodes share one PostgreSQL database. Once removed, the node still knows its password: change it',
      }),
      keys: z.array(apiKeySchema).meta({description: 'API keys that were created on the node, including revoked ones'}),
    })
    .meta({id: 'ClusterNode'});
export type ClusterNode = z.infer<ReturnType<typeof clusterNodeSchema>>;

/** `DELETE /cluster/nodes/{node_id}?revoke_keys=true`. */
export const removedNodeSchema = () =>
  z
    .strictObject({
      revoked_key_ids: z.array(id),
      kept_key_ids: z.array(id).meta({description: 'The key of the request itself, if it was created on that node'}),
    })
    .meta({id: 'RemovedNode'});
export type RemovedNode = z.infer<ReturnType<typeof removedNodeSchema>>;
