// Mail filters and DKIM keys of a domain: made by a form, removed after a question.
import {dkimAlgorithms} from '../../../../shared/dkim-algorithm.ts';
import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {
  filterActions,
  filterMatches,
  headerName,
  maxCommentChars,
  maxPoints,
  patternFault,
} from '../../../../shared/filter-rules.ts';
import type {MailFilter} from '../../../../shared/mail-filter.ts';
import {asCliError} from '../../../errors.ts';
import type {FormField, FormValues} from '../../shell/modal.ts';
import type {DomainNeeds} from './domain-actions.ts';
import {withFields} from './edit-domain.ts';

type Name = Pick<Domain, 'id' | 'name'>;

export const openNewFilter = (needs: DomainNeeds, domain: Name, values: FormValues = {}): void =>
  needs.shell.openLater({
    kind: 'form',
    title: `New mail filter of ${domain.name}`,
    fields: filterFields(values),
    check: filterFaults,
    onSubmit: typed => askToAdd(needs, domain, typed),
  });

const filterFields = (values: FormValues): FormField[] => [
  {
    name: 'action',
    label: 'Action',
    value: values.action ?? 'block',
    choices: filterActions,
    hint: 'allow delivers what matches, block refuses it, score adds to its score',
  },
  {name: 'score', label: 'Score', value: values.score ?? '', hint: 'with action score: what is added; negative to lower it'},
  {
    name: 'match',
    label: 'Match',
    value: values.match ?? 'sender',
    choices: filterMatches,
    hint: 'what the pattern is compared with',
  },
  {name: 'header', label: 'Header', value: values.header ?? '', hint: 'with match header: its name, such as List-Id'},
  {
    name: 'pattern',
    label: 'Pattern',
    value: values.pattern ?? '',
    hint: 'an address, a domain (with all below it), or text in which * is any text and ? one character',
  },
  {name: 'comment', label: 'Comment', value: values.comment ?? '', hint: 'why; for whoever reads it next year'},
];

/** By field; what the node would say too. */
export const filterFaults = (values: FormValues): Record<string, string> => {
  const {action} = values;
  const match = filterMatches.find(one => one === values.match);
  const [score, header, pattern] = [trimmed(values.score), trimmed(values.header), trimmed(values.pattern)];
  const faults: Record<string, string> = {};
  if (action === 'score' && !isScore(score)) faults.score = `must be a number from -${maxPoints} to ${maxPoints}`;
  if (action !== 'score' && score !== '') faults.score = 'belongs to action score only; remove it';
  if (match === 'header' && !headerName.test(header)) faults.header = 'must be a header name such as List-Id';
  if (match !== 'header' && header !== '') faults.header = 'belongs to match header only; remove it';
  const wrong = pattern === '' ? 'is required' : patternFault({match, pattern});
  if (wrong !== undefined) faults.pattern = wrong;
  if (trimmed(values.comment).length > maxCommentChars) faults.comment = `must be at most ${maxCommentChars} characters`;
  return faults;
};

const trimmed = (text: string | undefined): string => (text ?? '').trim();

const isScore = (text: string): boolean => /^[+-]?\d+(\.\d+)?$/.test(text) && Math.abs(Number(text)) <= maxPoints;

type NewFilter = Pick<MailFilter, 'action' | 'match' | 'pattern' | 'score' | 'header' | 'comment'>;

const askToAdd = (needs: DomainNeeds, domain: Name, values: FormValues): void => {
  const filter = newFilterOf(values);
  needs.shell.openLater({
    kind: 'question',
    lines: [
      `Add this mail filter to ${domain.name}?`,
      `  ${filterText(filter)}`,
      ...(filter.comment === null ? [] : [`  ${filter.comment}`]),
    ],
    yes: 'add',
    onYes: () => void addFilter(needs, {domain, values}, filter),
    no: 'back to the form',
    onNo: () => openNewFilter(needs, domain, values),
  });
};

const newFilterOf = (values: FormValues): NewFilter => {
  const action = filterActions.find(one => one === values.action) ?? 'block';
  const match = filterMatches.find(one => one === values.match) ?? 'sender';
  return {
    action,
    match,
    pattern: trimmed(values.pattern),
    score: action === 'score' ? Number(values.score) : null,
    header: match === 'header' ? trimmed(values.header) : null,
    comment: trimmed(values.comment) || null,
  };
};

interface FilledForm {
  domain: Name;
  values: FormValues;
}

const addFilter = async (needs: DomainNeeds, {domain, values}: FilledForm, json: NewFilter): Promise<void> => {
  const {app, shell} = needs;
  try {
    const {data} = await app.client.send<MailFilter>({method: 'POST', path: `domains/${domain.id}/filters`, json});
    shell.say(`Added to ${domain.name}: ${filterText(data)}`, 'good');
    needs.onChange();
  } catch (error) {
    shell.fail(withFields(asCliError(error)));
    openNewFilter(needs, domain, values);
  }
};

export const actionText = ({action, score}: Pick<MailFilter, 'action' | 'score'>): string => {
  if (action === 'score') return `± ${(score ?? 0) > 0 ? '+' : ''}${score ?? 0}`;
  return action === 'allow' ? '✓ allow' : '✗ block';
};

export const matchText = ({match, header}: Pick<MailFilter, 'match' | 'header'>): string =>
  match === 'header' ? `header ${header ?? ''}` : match;

export const filterText = (filter: Pick<MailFilter, 'action' | 'score' | 'match' | 'header' | 'pattern'>): string =>
  `${actionText(filter)}, ${matchText(filter)}: ${filter.pattern}`;

export const askToRemoveFilter = ({app, shell, onChange}: DomainNeeds, domain: Name, filter: MailFilter): void =>
  shell.openLater({
    kind: 'question',
    lines: [
      `Remove this mail filter of ${domain.name}?`,
      `  ${filterText(filter)}`,
      ...(filter.comment === null ? [] : [`  ${filter.comment}`]),
    ],
    yes: 'remove',
    onYes: () =>
      shell.defer({
        what: `remove the filter ${filterText(filter)} of ${domain.name}`,
        run: async () => {
          await app.client.send<null>({method: 'DELETE', path: `domains/${domain.id}/filters/${filter.id}`});
          return `Removed from ${domain.name}: ${filterText(filter)}`;
        },
        onSettled: onChange,
      }),
  });

export interface DkimNeeds extends DomainNeeds {
  onCreated(key: DkimKey): void;
}

const selectorShape = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

export const openNewDkimKey = (needs: DkimNeeds, domain: Name, keys: readonly DkimKey[], values: FormValues = {}): void =>
  needs.shell.openLater({
    kind: 'form',
    title: `New DKIM key of ${domain.name}`,
    fields: [
      {
        name: 'selector',
        label: 'Selector',
        value: values.selector ?? '',
        hint: `such as mfd2026: the record is published at SELECTOR._domainkey.${domain.name}`,
      },
      {
        name: 'algorithm',
        label: 'Algorithm',
        value: values.algorithm ?? 'rsa-2048',
        choices: dkimAlgorithms,
        hint: 'every receiver knows rsa-2048; ed25519 is shorter, and best had beside it',
      },
    ],
    check: (typed): Record<string, string> => {
      const selector = trimmed(typed.selector);
      if (selector.length > 63 || !selectorShape.test(selector))
        return {selector: 'must be lower-case letters, digits and hyphens, such as mfd2026'};
      return keys.some(key => key.selector === selector) ? {selector: 'is taken by another key of the domain'} : {};
    },
    onSubmit: typed => askToMakeKey(needs, domain, keys, typed),
  });

const askToMakeKey = (needs: DkimNeeds, domain: Name, keys: readonly DkimKey[], values: FormValues): void =>
  needs.shell.openLater({
    kind: 'question',
    lines: [`Make a DKIM key of ${domain.name}?`, `  selector   ${trimmed(values.selector)}`, `  algorithm  ${values.algorithm}`],
    yes: 'make it',
    onYes: () => void createKey(needs, domain, keys, values),
    no: 'back to the form',
    onNo: () => openNewDkimKey(needs, domain, keys, values),
  });

const createKey = async (needs: DkimNeeds, domain: Name, keys: readonly DkimKey[], values: FormValues): Promise<void> => {
  const {app, shell} = needs;
  try {
    const json = {selector: trimmed(values.selector), algorithm: values.algorithm};
    const {data} = await app.client.send<DkimKey>({method: 'POST', path: `domains/${domain.id}/dkim-keys`, json});
    shell.say(`Made the DKIM key ${data.selector} of ${domain.name}: publish its record first, then switch DKIM on`, 'good');
    needs.onChange();
    needs.onCreated(data);
  } catch (error) {
    shell.fail(withFields(asCliError(error)));
    openNewDkimKey(needs, domain, keys, values);
  }
};

export const askToDeleteKey = (
  {app, shell, onChange}: DomainNeeds,
  domain: Name & Pick<Domain, 'dkim_active'>,
  {key, isLast}: {key: DkimKey; isLast: boolean},
): void =>
  shell.openLater({
    kind: 'question',
    lines: [
      `Delete the DKIM key ${key.selector} of ${domain.name}?`,
      'It cannot be had again. Leave its record in DNS for some days: mail signed with it is still under way.',
      ...(isLast && domain.dkim_active
        ? ['It is the only one, and DKIM is on: mail leaves unsigned until there is another.']
        : []),
    ],
    yes: 'delete',
    onYes: () =>
      shell.defer({
        what: `delete the DKIM key ${key.selector} of ${domain.name}`,
        run: async () => {
          const path = `domains/${domain.id}/dkim-keys/${encodeURIComponent(key.selector)}`;
          await app.client.send<null>({method: 'DELETE', path});
          return `Deleted the DKIM key ${key.selector} of ${domain.name}`;
        },
        onSettled: onChange,
      }),
  });
