// Form that allows or blocks the sender of the mail under the cursor.
import type {MailReference} from '../../../../shared/held-mail.ts';
import {addSenderFilter, allDomains, ruleText, type SenderAction, senderRule} from '../../../quarantine/sender-filter.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {type AskingShell, askByForm} from '../../shell/asking.ts';
import type {FormField, FormValues} from '../../shell/modal.ts';
import {guarded} from '../../shell/shell.ts';

interface SenderShell extends AskingShell {
  app: Pick<AppContext, 'client' | 'may'>;
}

const isForAll = (values: FormValues): boolean => values.for === allDomains;

/** The mail is read first: its sender may be one that cannot be named, or that nothing verifies. */
export const openSenderForm = (shell: SenderShell, reference: MailReference, action: SenderAction): Promise<void> =>
  guarded(shell, async () => {
    const {client, may} = shell.app;
    const rule = senderRule((await client.quarantine.get(reference)).data, action);
    const verb = action === 'allow' ? 'Allow' : 'Block';
    askByForm(shell, {
      title: `${verb} ${rule.sender}`,
      fields: [forField(rule.domain, may('cluster:write')), {name: 'comment', label: 'Comment', value: rule.comment ?? ''}],
      question: values => [
        `${verb} ${rule.sender} for ${values.for}?`,
        `  ${ruleText(rule, isForAll(values))}.`,
        '  The mail that is held now stays held.',
        ...(rule.warning === undefined ? [] : [`! ${rule.warning}`]),
      ],
      yes: action,
      send: values => addSenderFilter(client, {...rule, comment: (values.comment ?? '').trim() || null}, isForAll(values)),
      onDone: ({filter, isNew}) =>
        shell.say(`${isNew ? 'Added' : 'There was already'} filter ${filter.id} for ${rule.sender}: ${action}`, 'good'),
    });
  });

/** A key for one domain has no choice. */
const forField = (domain: string, mayForAll: boolean): FormField => ({
  name: 'for',
  label: 'For',
  value: domain,
  choices: mayForAll ? [domain, allDomains] : [domain],
  hint: mayForAll ? 'the domain of the mail, or all domains: left and right change it' : 'the domain of the mail',
});
