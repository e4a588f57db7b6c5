// The part of the verification that takes most processor time: the signatures themselves, by mailauth.
import type {DkimResult, MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {Lookup} from '../lookup.ts';
import {signingDomain} from '../signing-domain.ts';
import {loadMailauth} from './mailauth.ts';
import {wholeMail} from './whole-mail.ts';

export interface SignatureCheck {
  dkim: MailAuthentication['dkim'];
  /** Of the ARC chain; `none` without one. */
  arc: MailAuthentication['arc'];
}

const minKeyBits = 1024;

/** Checks the signatures of a mail. Keys are asked for with `lookup`, as TXT records. */
export const checkSignatures = async (mail: Buffer, lookup: Lookup): Promise<SignatureCheck> => {
  const {dkimVerify, arc} = await loadMailauth();
  // Its strict mode would refuse signatures of honest mail: with an underscore in a name, or an unusual local part in `i=`. What has to be
  // refused has been taken out before. With a sender given, it parses no Return-Path.
  const options = {resolver: lookup as never, minBitLength: minKeyBits, sender: 'unused@invalid'};
  const {results, arc: chain} = await dkimVerify(wholeMail(mail), options);
  const dkim = (results as unknown as Verified[]).flatMap(outcomeOf);
  if (!chain) return {dkim, arc: {result: 'none'}};
  const {status} = await arc(chain as never, options);
  return {dkim, arc: {result: status.result === 'pass' || status.result === 'none' ? status.result : 'fail'}};
};

/** The used parts of a result of mailauth. */
interface Verified {
  signingDomain?: string;
  selector?: string;
  status: {result: DkimResult};
  /** The hash of the body, and the one that the signature says. */
  bodyHash?: string;
  bodyHashExpecting?: string;
}

const outcomeOf = ({
  signingDomain: name,
  selector,
  status,
  bodyHash,
  bodyHashExpecting,
}: Verified): MailAuthentication['dkim'] => {
  const domain = signingDomain(name ?? '');
  if (domain === undefined) return [];
  // mailauth says `neutral` of a body that was changed.
  const result = status.result === 'neutral' && bodyHash !== bodyHashExpecting ? 'fail' : status.result;
  return [{result, domain, selector: (selector ?? '').slice(0, 253)}];
};
