// Scores of failed authentication for the built-in scorer. Rspamd has symbols of its own.
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';

/** By name of the symbol. With the default thresholds, 6 and 15, mail that its domain wants refused or held is held. */
export const authenticationScores = {
  /** DMARC fails, and the domain in From wants such mail refused. */
  DMARC_REJECT: 10,
  /** DMARC fails, and the domain in From wants such mail held. */
  DMARC_QUARANTINE: 6,
  /** The domain of the envelope sender does not allow the client to send its mail, and the domain in From has no DMARC policy. */
  SPF_FAIL: 3,
} as const;

export const scoreAuthentication = ({spf, dmarc}: MailAuthentication): SymbolScore[] => {
  const name = symbolOf(spf, dmarc);
  return name === undefined ? [] : [{name, score: authenticationScores[name]}];
};

const symbolOf = (
  spf: MailAuthentication['spf'],
  {result, policy}: MailAuthentication['dmarc'],
): keyof typeof authenticationScores | undefined => {
  if (result === 'fail' && policy === 'reject') return 'DMARC_REJECT';
  if (result === 'fail' && policy === 'quarantine') return 'DMARC_QUARANTINE';
  return result === 'none' && spf.result === 'fail' ? 'SPF_FAIL' : undefined;
};
