import type {SmtpReply} from '../../services/intake/mail-ports.ts';
import {replies} from '../smtp-reply.ts';

export interface ClientLimitNeeds {
  maxConnections: number;
  maxConnectionsPerClient: number;
  /** Trusted clients count towards the total only. */
  isTrusted(ip: string): boolean;
}

export interface ClientLimits {
  /** The reply that refuses this client; undefined admits it and counts it until `leave`. */
  admit(ip: string): SmtpReply | undefined;
  leave(ip: string): void;
}

export const createClientLimits = ({maxConnections, maxConnectionsPerClient, isTrusted}: ClientLimitNeeds): ClientLimits => {
  const byClient = new Map<string, number>();
  let total = 0;

  return {
    admit: ip => {
      const count = byClient.get(ip) ?? 0;
      if (total >= maxConnections) return replies.tooManyConnections;
      if (count >= maxConnectionsPerClient && !isTrusted(ip)) return replies.tooManyFromClient;

      total += 1;
      byClient.set(ip, count + 1);
      return undefined;
    },
    leave: ip => {
      const count = (byClient.get(ip) ?? 0) - 1;
      total -= 1;
      if (count > 0) byClient.set(ip, count);
      else byClient.delete(ip);
    },
  };
};
