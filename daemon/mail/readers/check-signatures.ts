// The part of the verification that takes most of the processor: the signatures themselves, by mailauth.
import {Readable} from 'node:stream';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import type {DkimResult, MailAuthentication} from '../../../shared/mail-authentication.ts';
import {withHeaderEnd} from '../../services/intake/header-block.ts';
import type {MailContent} from '../../services/intake/mail.ts';
import type {Lookup} from '../lookup.ts';
import {loadMailauth} from './mailauth.ts';

export interface SignatureCheck {
  dkim: MailAuthentication['dkim'];
  /** Of the ARC chain; `none` without one. */
  arc: MailAuthentication['arc'];
}

/** Checks the signatures of a mail. Keys are asked for with `lookup`, as TXT records. */
export type CheckSignatures = (mail: MailContent, lookup: Lookup) => Promise<SignatureCheck>;

const minKeyBits = 1024;

export const checkSignatures: CheckSignatures = async (mail, lookup) => {
  const {dkimVerify, arc} = await loadMailauth();
  const options = {resolver: lookup as never, minBitLength: minKeyBits};
  const {results, arc: chain} = await dkimVerify(Readable.from(withHeaderEnd(mail)), options);
  const dkim = (results as unknown as Verified[]).flatMap(outcomeOf);
  if (!chain) return {dkim, arc: {result: 'none'}};
  const {status} = await arc(chain as never, options);
  return {dkim, arc: {result: status.result === 'pass' || status.result === 'none' ? status.result : 'fail'}};
};

/** What is used of a result of mailauth. */
interface Verified {
  signingDomain?: string;
  selector?: string;
  status: {result: DkimResult};
}

const outcomeOf = ({signingDomain, selector, status}: Verified): MailAuthentication['dkim'] => {
  const domain = canonicalDomain(signingDomain ?? '');
  return domain === undefined ? [] : [{result: status.result, domain, selector: (selector ?? '').slice(0, 253)}];
};
