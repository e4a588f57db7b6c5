// SPF (RFC 7208), by mailauth.
import type {SpfResult} from '../../../shared/mail-authentication.ts';
import type {Lookup} from '../lookup.ts';
import {loadMailauth} from './mailauth.ts';

export interface SpfQuestion {
  /** Of the client, without a prefix or a zone. */
  ip: string;
  helo: string;
  /** Empty for a bounce: then the greeting counts. */
  sender: string;
  /** The name of this host. */
  mta: string;
}

export type CheckSender = (question: SpfQuestion, lookup: Lookup) => Promise<SpfResult>;

export const checkSender: CheckSender = async ({ip, helo, sender, mta}, lookup) => {
  const {spf} = await loadMailauth();
  const {status} = await spf({ip, helo, sender, mta, resolver: lookup as never});
  return status.result as SpfResult;
};
