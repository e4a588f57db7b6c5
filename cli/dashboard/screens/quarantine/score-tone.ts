import type {HeldMail} from '../../../../shared/held-mail.ts';
import type {Tone} from '../../../output/tone.ts';

interface Range {
  quarantine: number;
  reject: number;
}

/** By domain, as far as they are known. */
export type Thresholds = ReadonlyMap<string, Range>;

/** The defaults of a domain. */
const defaults: Range = {quarantine: 6, reject: 15};

/** By the distance to rejection: bad in the last third between the thresholds, warn in the second. */
export const toneOfScore = (
  {recipients, score}: Pick<HeldMail, 'recipients' | 'score'>,
  thresholds: Thresholds,
): Tone | undefined => {
  const address = recipients[0] ?? '';
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  const {quarantine, reject} = thresholds.get(domain) ?? defaults;
  const part = (score - quarantine) / Math.max(0.001, reject - quarantine);
  if (part >= 2 / 3) return 'bad';
  return part >= 1 / 3 ? 'warn' : undefined;
};
