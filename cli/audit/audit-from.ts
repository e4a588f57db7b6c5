import type {AuditEntry} from '../../shared/audit-entry.ts';
import {relayIn} from '../../shared/audit-relay.ts';

/** The address of the client, and the node that relayed its request, if one did: `192.0.2.9 via mx2`. */
export const fromText = ({remote_address, detail}: AuditEntry): string | null => {
  const relay = relayIn(detail);
  if (relay === undefined) return remote_address;
  return remote_address === null ? `via ${relay}` : `${remote_address} via ${relay}`;
};
