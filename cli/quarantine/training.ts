// Training of the scanner with a held mail, for `quarantine allow` and `block` and for the dashboard. Prints nothing.
import type {Me} from '../../shared/api-key.ts';
import type {MailReference, Training, TrainingClass, TrainingOutcome} from '../../shared/held-mail.ts';
import {scopesWith} from '../../shared/scopes.ts';
import type {Client} from '../client/client.ts';
import {CliError, exitCodes} from '../errors.ts';
import type {SenderAction} from './sender-filter.ts';

export const sampleClassOf: Record<SenderAction, TrainingClass> = {allow: 'ham', block: 'spam'};

/** What a node asks of the key that trains: the scanner judges the mail of all domains. */
export const trainingRight = 'cluster:write';

/** Throws when the key may not train, before anything is done. */
export const requireTrainingRight = (me: Me): void => {
  if (me.permissions.includes(trainingRight)) return;
  throw new CliError('insufficient_scope', `a ${me.scope} key may not train the scanner of all domains: nothing was done`, {
    exitCode: exitCodes.notAuthorised,
    hint: `leave out --train, or use a key of scope ${scopesWith(trainingRight).join(' or ')}`,
  });
};

interface TrainingWish {
  action: SenderAction;
  /** What became of the filter, which a failure says too: the filter is there all the same. */
  added: string;
}

/** `the scanner learned this mail as ham` */
export const trainScanner = async (
  {quarantine}: Pick<Client, 'quarantine'>,
  mail: MailReference,
  {action, added}: TrainingWish,
): Promise<string> => {
  try {
    return outcomeText((await quarantine.train(mail, sampleClassOf[action])).data);
  } catch (error) {
    throw error instanceof CliError ? error.with({detail: `${added}; but ${error.detail}`}) : error;
  }
};

const outcomeText = ({as, outcome}: Pick<TrainingOutcome, 'as' | 'outcome'>): string => {
  const texts: Record<Training, string> = {
    learned: `the scanner learned this mail as ${as}`,
    learned_before: `the scanner had learned this mail as ${as} before`,
    too_short: 'the scanner learned nothing: this mail has too few words',
    nothing_new: 'the scanner learned nothing: it needs no more mail like this one',
  };
  return texts[outcome];
};
