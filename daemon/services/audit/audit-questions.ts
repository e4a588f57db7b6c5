// Questions to the audit log of another node.
import {z} from 'zod';
import {auditEntrySchema} from '../../../shared/audit-entry.ts';
import {nodeId, timestamp} from '../../../shared/fields.ts';
import {recipientKeyId} from '../../../shared/recipient-key.ts';
import {type AskedNode, listQuestions, remoteList} from '../peers/question.ts';
import type {AuditFilter, AuditLog} from '../ports.ts';

/** Strict: ignoring a part of it would show the caller too much. */
const filter: z.ZodType<AuditFilter> = z.strictObject({
  since: timestamp.optional(),
  key_id: z.int().min(recipientKeyId).optional(),
  action: z.string().max(1000).optional(),
  target: z.string().max(1000).optional(),
});

const cursor = z.object({at: timestamp, node_id: nodeId, seq: z.int()});
const ofNode = (owner: string) => ({node_id: z.literal(owner)});

export const auditQuestions = listQuestions({
  ...{name: 'audit', permission: 'audit:read', filter, cursor},
  answer: owner => z.object({entries: z.array(z.object({...auditEntrySchema.shape, ...ofNode(owner)})), total: z.int().min(0)}),
  cursorOf: owner => cursor.extend(ofNode(owner)),
});

export const remoteAuditLog = (node: AskedNode): AuditLog => ({nodeId: node.nodeId, ...remoteList(node, auditQuestions)});
