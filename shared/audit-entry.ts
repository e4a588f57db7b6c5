import {z} from 'zod';
import {nodeId, timestamp} from './fields.ts';

export const auditEntrySchema = z
  .strictObject({
    node_id: nodeId.meta({description: 'The node that acted and has the entry in its log'}),
    seq: z.int().meta({description: 'Position in that node’s log'}),
    at: timestamp,
    key_id: z.int().nullable().meta({
      description: 'Null for actions of the node or its operator; 0 for those of recipients by the links of digests',
    }),
    key_name: z.string().nullable().meta({description: 'Also null after the key has been deleted'}),
    action: z.string().meta({example: 'quarantine.release'}),
    target: z.string().meta({example: 'mx1/5fJk2LmQ0a'}),
    remote_address: z.string().nullable().meta({description: 'Address of the client, as seen by the node that was asked'}),
    result: z.string().meta({description: '`ok` or the error code'}),
    detail: z
      .string()
      .meta({description: 'Begins with `asked through NODE` when another node received the request and passed it on'}),
    hash: z.string().meta({description: 'SHA-256 over this entry and the hash before it'}),
  })
  .meta({id: 'AuditEntry'});
export type AuditEntry = z.infer<typeof auditEntrySchema>;
