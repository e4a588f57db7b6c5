// Form that allows or blocks the sender of the mail under the cursor.
import type {MailReference} from '../../../../shared/held-mail.ts';
import {onlyCliError} from '../../../errors.ts';
import {
  addSenderFilter,
  allDomains,
  type KnownFilters,
  readFilters,
  type SenderAction,
  type SenderRule,
  senderOutcome,
  senderRule,
} from '../../../quarantine/sender-filter.ts';
import {sampleClassOf, trainingRight, trainScanner} from '../../../quarantine/training.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {type AskingShell, askByForm} from '../../shell/asking.ts';
import type {FormField, FormValues} from '../../shell/modal.ts';
import {guarded} from '../../shell/shell.ts';

interface SenderShell extends AskingShell {
  app: Pick<AppContext, 'client' | 'may'>;
}

const isForAll = (values: FormValues): boolean => values.for === allDomains;
const isForTraining = (values: FormValues): boolean => values.train === 'yes';

/** The mail is read first: its sender may be one that cannot be named, or that nothing verifies. */
export const openSenderForm = (shell: SenderShell, reference: MailReference, action: SenderAction): Promise<void> =>
  guarded(shell, async () => {
    const {client, may} = shell.app;
    const rule = senderRule((await client.quarantine.get(reference)).data, action);
    const known = await readFilters(client, rule, may('cluster:write'));
    const verb = action === 'allow' ? 'Allow' : 'Block';
    askByForm(shell, {
      title: `${verb} ${rule.sender}`,
      fields: [
        forField(rule.domain, may('cluster:write')),
        {name: 'comment', label: 'Comment', value: rule.comment ?? ''},
        ...(may(trainingRight) ? [trainField(action)] : []),
      ],
      check: values => conflictOf(rule, known, isForAll(values)),
      question: values => [
        `${verb} ${rule.sender} for ${values.for}?`,
        `  ${senderOutcome(rule, known, isForAll(values)).text}.`,
        '  The mail that is held now stays held.',
        ...(isForTraining(values) ? [`  The scanner learns it as ${sampleClassOf[action]}, for the mail of all domains.`] : []),
        ...(rule.warning === undefined ? [] : [`! ${rule.warning}`]),
      ],
      yes: action,
      async send(values) {
        const comment = (values.comment ?? '').trim() || null;
        const {filter, isNew} = await addSenderFilter(client, {...rule, comment}, isForAll(values));
        const added = `${isNew ? 'Added' : 'There was already'} filter ${filter.id} for ${rule.sender}: ${action}`;
        return isForTraining(values) ? `${added}; ${await trainScanner(client, reference, {action, added})}` : added;
      },
      onDone: text => shell.say(text, 'good'),
    });
  });

/** A filter that wins over the wanted one is told before the question. */
const conflictOf = (rule: SenderRule, known: KnownFilters, isForEach: boolean): Record<string, string> => {
  try {
    senderOutcome(rule, known, isForEach);
    return {};
  } catch (error) {
    const {detail, hint} = onlyCliError(error);
    return {for: hint === undefined ? detail : `${detail}: ${hint}`};
  }
};

const trainField = (action: SenderAction): FormField => ({
  name: 'train',
  label: 'Train',
  value: 'no',
  choices: ['no', 'yes'],
  hint: `yes: the scanner learns this mail as ${sampleClassOf[action]}; left and right change it`,
});

/** A key for one domain has no choice. */
const forField = (domain: string, mayForAll: boolean): FormField => ({
  name: 'for',
  label: 'For',
  value: domain,
  choices: mayForAll ? [domain, allDomains] : [domain],
  hint: mayForAll ? 'the domain of the mail, or all domains: left and right change it' : 'the domain of the mail',
});
