// Schemas of drift. They are functions: only the description of the API needs them, and a node saves the memory.
import {z} from 'zod';
import {id, nodeId, timestamp} from './fields.ts';

/** The state of a record on one node: `absent` when that node has not received it, or not all of it yet. */
const recordPresences = ['live', 'deleted', 'absent'] as const;

/** The types are for the API description: its generator cannot express the recursive type of JSON. */
const fieldValue = () => z.json().meta({type: ['null', 'boolean', 'number', 'string', 'array', 'object']});

export const driftRecordSchema = () =>
  z.strictObject({
    node_id: nodeId.meta({description: 'The node it was compared with'}),
    kind: z.string().meta({example: 'domain'}),
    id,
    name: z.string().nullable().meta({description: 'The name of the record, if it has one'}),
    here: z.enum(recordPresences),
    there: z.enum(recordPresences),
    fields: z
      .array(z.strictObject({name: z.string(), here: fieldValue(), there: fieldValue()}))
      .meta({description: 'The fields whose values differ; secrets are not shown'}),
  });
export type DriftRecord = z.infer<ReturnType<typeof driftRecordSchema>>;

/** How the configuration of the answering node differs from that of the others. */
export const clusterDriftSchema = () =>
  z
    .strictObject({
      local_node_id: nodeId,
      config_hash: z.string(),
      nodes: z.array(
        z.strictObject({
          node_id: nodeId,
          config_hash: z.string(),
          differs_since: timestamp.nullable().meta({
            description:
              'Since when the configurations have differed while no change was in transit between the two; null when they do not differ',
          }),
          differing_records: z.int().nullable().meta({description: 'Null when the node did not answer'}),
        }),
      ),
      records: z.array(driftRecordSchema()).meta({description: 'At most 100 for each node'}),
      repairs: z
        .array(z.strictObject({at: timestamp, node_id: nodeId, records: z.int()}))
        .meta({description: 'Drift repairs of this node since it was started, newest first'}),
      generated_at: timestamp,
    })
    .meta({id: 'ClusterDrift'});
export type ClusterDrift = z.infer<ReturnType<typeof clusterDriftSchema>>;
