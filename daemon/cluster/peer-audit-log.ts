// The audit log of another node.

import type {AuditCursor, AuditFilter, AuditLog} from '../services/ports.ts';
import {auditAnswersOf} from '../services/quarantine/peer-hold-protocol.ts';
import type {PeerClient} from './peer-client.ts';
import {askPart} from './peer-question.ts';

export const createPeerAuditLog = (client: PeerClient): AuditLog => {
  const answers = auditAnswersOf(client.nodeId);
  return {
    nodeId: client.nodeId,
    ...askPart<AuditFilter, AuditCursor, typeof answers.list, typeof answers.marks>(client, {
      path: 'audit',
      list: answers.list,
      samples: answers.marks,
    }),
  };
};
