// Mail filters and DKIM keys of a domain: made by a form, removed after a question.

import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {dkimAlgorithms, maxSelectorChars, selectorShape} from '../../../../shared/field-rules.ts';
import {filterActions, filterMatches, letsIn} from '../../../../shared/filter-rules.ts';
import type {CreateMailFilter, MailFilter} from '../../../../shared/mail-filter.ts';
import {loadRules} from '../../../domain/domain-rules.ts';
import {fromText} from '../../../filter/mail-filters.ts';
import {askByForm, askToDefer, byField} from '../../shell/asking.ts';
import type {FormField, FormValues} from '../../shell/modal.ts';
import {guarded} from '../../shell/shell.ts';
import type {DomainServices} from './domain-actions.ts';

type Name = Pick<Domain, 'id' | 'name'>;

export const openNewFilter = ({app, shell, onChange}: DomainServices, domain: Name): Promise<void> =>
  guarded(shell, async () => {
    const {newFilter} = await loadRules();
    askByForm(shell, {
      title: `New mail filter of ${domain.name}`,
      fields: filterFields,
      check: typed => byField(newFilter(typedFilter(typed)).faults),
      question: typed => [`Add this mail filter to ${domain.name}?`, ...filterLines(typedFilter(typed))],
      yes: 'add',
      send: async typed => (await app.client.domains.addFilter(domain.id, typedFilter(typed))).data,
      onDone: filter => {
        shell.say(`Added to ${domain.name}: ${filterText(filter)}`, 'good');
        onChange();
      },
    });
  });

const filterFields: readonly FormField[] = [
  {
    name: 'action',
    label: 'Action',
    value: 'block',
    choices: filterActions,
    hint: 'allow delivers what matches, block refuses it, score adds to its score',
  },
  {name: 'score', label: 'Score', value: '', hint: 'with action score: what is added; negative to lower it'},
  {name: 'match', label: 'Match', value: 'sender', choices: filterMatches, hint: 'what the pattern is compared with'},
  {name: 'header', label: 'Header', value: '', hint: 'with match header: its name, such as List-Id'},
  {
    name: 'pattern',
    label: 'Pattern',
    value: '',
    hint: 'an address, a domain (with all below it), or text in which * is any text and ? one character',
  },
  {
    name: 'authenticated',
    label: 'Authenticated',
    value: 'yes',
    choices: ['yes', 'no'],
    hint: 'with allow or a negative score: only mail whose sender is verified by SPF or DKIM',
  },
  {name: 'comment', label: 'Comment', value: '', hint: 'why the filter exists'},
];

const trimmed = (text: string | undefined): string => (text ?? '').trim();

/** What the texts of the form stand for, right or wrong. A filter that keeps mail out has no `authenticated`. */
export const typedFilter = (values: FormValues): CreateMailFilter => {
  const score = trimmed(values.score);
  const filter = {
    action: values.action,
    match: values.match,
    pattern: trimmed(values.pattern),
    score: score === '' ? null : /^[+-]?\d+(\.\d+)?$/.test(score) ? Number(score) : score,
    header: trimmed(values.header) || null,
    comment: trimmed(values.comment) || null,
  } as CreateMailFilter;
  return letsIn(filter) ? {...filter, authenticated: values.authenticated !== 'no'} : filter;
};

export const actionText = ({action, score}: Pick<MailFilter, 'action' | 'score'>): string => {
  if (action === 'score') return `± ${(score ?? 0) > 0 ? '+' : ''}${score ?? 0}`;
  return action === 'allow' ? '✓ allow' : '✗ block';
};

export const matchText = ({match, header}: Pick<MailFilter, 'match' | 'header'>): string =>
  match === 'header' ? `header ${header ?? ''}` : match;

type FilterFacts = Pick<CreateMailFilter, 'action' | 'match' | 'pattern' | 'score' | 'header' | 'comment' | 'authenticated'>;

const filterText = ({header = null, score = null, ...filter}: FilterFacts): string =>
  `${actionText({...filter, score})}, ${matchText({...filter, header})}: ${filter.pattern}`;

const filterLines = (filter: FilterFacts): string[] => {
  const from = fromText(filter);
  return [
    `  ${filterText(filter)}`,
    ...(from === null ? [] : [`  from ${from}`]),
    ...(filter.comment ? [`  ${filter.comment}`] : []),
  ];
};

export const askToRemoveFilter = ({app, shell, onChange}: DomainServices, domain: Name, filter: MailFilter): void =>
  askToDefer(shell, {
    lines: [`Remove this mail filter of ${domain.name}?`, ...filterLines(filter)],
    yes: 'remove',
    what: `remove the filter ${filterText(filter)} of ${domain.name}`,
    run: async () => {
      await app.client.domains.removeFilter(domain.id, filter.id);
      return `Removed from ${domain.name}: ${filterText(filter)}`;
    },
    onSettled: onChange,
  });

interface DkimNeeds extends DomainServices {
  onCreated(key: DkimKey): void;
}

export const openNewDkimKey = ({app, shell, onChange, onCreated}: DkimNeeds, domain: Name, keys: readonly DkimKey[]): void =>
  askByForm(shell, {
    title: `New DKIM key of ${domain.name}`,
    fields: [
      {
        name: 'selector',
        label: 'Selector',
        value: '',
        hint: `such as mfd2026: the record is published at SELECTOR._domainkey.${domain.name}`,
      },
      {
        name: 'algorithm',
        label: 'Algorithm',
        value: 'rsa-2048',
        choices: dkimAlgorithms,
        hint: 'every receiver supports rsa-2048; use the shorter ed25519 in addition to it',
      },
    ],
    check: (typed): Record<string, string> => {
      const selector = trimmed(typed.selector);
      if (selector.length > maxSelectorChars || !selectorShape.test(selector))
        return {selector: 'must be lower-case letters, digits and hyphens, such as mfd2026'};
      return keys.some(key => key.selector === selector) ? {selector: 'is taken by another key of the domain'} : {};
    },
    question: ({selector, algorithm}) => [
      `Make a DKIM key of ${domain.name}?`,
      `  selector   ${trimmed(selector)}`,
      `  algorithm  ${algorithm}`,
    ],
    yes: 'make it',
    send: async ({selector, algorithm}) => {
      const key = {selector: trimmed(selector), algorithm: dkimAlgorithms.find(one => one === algorithm)};
      return (await app.client.domains.createDkimKey(domain.id, key)).data;
    },
    onDone: key => {
      shell.say(`Made the DKIM key ${key.selector} of ${domain.name}: publish its record first, then switch DKIM on`, 'good');
      onChange();
      onCreated(key);
    },
  });

export const askToDeleteKey = (
  {app, shell, onChange}: DomainServices,
  domain: Name & Pick<Domain, 'dkim_active'>,
  {key, isLast}: {key: DkimKey; isLast: boolean},
): void =>
  askToDefer(shell, {
    lines: [
      `Delete the DKIM key ${key.selector} of ${domain.name}?`,
      'It cannot be restored. Leave its record in DNS for some days: mail signed with it is still in transit.',
      ...(isLast && domain.dkim_active
        ? ['It is the only one, and DKIM is on: mail leaves unsigned until there is another.']
        : []),
    ],
    yes: 'delete',
    what: `delete the DKIM key ${key.selector} of ${domain.name}`,
    run: async () => {
      await app.client.domains.removeDkimKey(domain.id, key.selector);
      return `Deleted the DKIM key ${key.selector} of ${domain.name}`;
    },
    onSettled: onChange,
  });
