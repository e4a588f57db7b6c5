import {z} from 'zod';
import {nodeId, timestamp} from './fields.ts';

export const auditEntrySchema = z
  .strictObject({
    node_id: nodeId.meta({description: 'The node that did it, and has the entry in its log'}),
    seq: z.int().meta({description: 'Position in that node’s log'}),
    at: timestamp,
    key_id: z.int().nullable().meta({description: 'Null for what the node or its operator did'}),
    key_name: z.string().nullable().meta({description: 'Null too once the key has been deleted'}),
    action: z.string().meta({example: 'quarantine.release'}),
    target: z.string().meta({example: 'mx1/5fJk2LmQ0a'}),
    remote_address: z.string().nullable().meta({description: 'Of the client, as the node saw it that was asked'}),
    result: z.string().meta({description: '`ok` or the error code'}),
    detail: z
      .string()
      .meta({description: 'Begins with `asked through NODE` when another node was asked, and passed the request on'}),
    hash: z.string().meta({description: 'SHA-256 over this entry and the hash before it'}),
  })
  .meta({id: 'AuditEntry'});
export type AuditEntry = z.infer<typeof auditEntrySchema>;
