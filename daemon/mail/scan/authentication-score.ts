// Scores of failed authentication for the built-in scorer. Rspamd has symbols of its own.
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {Verified} from '../../services/intake/mail.ts';

/** By name of the symbol. With the default thresholds, 6 and 15, mail that its domain wants refused or held is held. */
export const authenticationScores = {
  /** Mail programs may show different authors. No less than what any policy of theirs could be, and not added to it. */
  AUTHOR_UNCLEAR: 10,
  /** DMARC fails, and the domain in From wants such mail refused. */
  DMARC_REJECT: 10,
  /** DMARC fails or cannot be decided, and the domain in From wants such mail held. */
  DMARC_QUARANTINE: 6,
  /** The domain of the envelope sender does not allow the client to send its mail, and the domain in From has no DMARC policy. */
  SPF_FAIL: 3,
} as const;

export const scoreAuthentication = (verified: Pick<Verified, 'results' | 'authorship'>): SymbolScore[] => {
  const name = symbolOf(verified);
  return name === undefined ? [] : [{name, score: authenticationScores[name]}];
};

const symbolOf = ({
  results: {spf, dmarc},
  authorship,
}: Pick<Verified, 'results' | 'authorship'>): keyof typeof authenticationScores | undefined => {
  if (authorship === 'unclear') return 'AUTHOR_UNCLEAR';
  if (dmarc.result === 'fail' && dmarc.policy === 'reject') return 'DMARC_REJECT';
  // Whether it passes could not be found out, and a held mail is not lost.
  if (/fail|temperror/.test(dmarc.result) && dmarc.policy === 'quarantine') return 'DMARC_QUARANTINE';
  return dmarc.result === 'none' && spf.result === 'fail' ? 'SPF_FAIL' : undefined;
};

/** Whether mail has to come again: its author wants forged mail refused, and whether it is forged could not be found out. */
export const isUndecided = ({results: {dmarc}, authorship}: Pick<Verified, 'results' | 'authorship'>): boolean =>
  authorship !== 'unclear' && dmarc.result === 'temperror' && dmarc.policy === 'reject';
