// Mail filters and DKIM keys of a domain: made by a form, removed after a question.

import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {dkimAlgorithms, maxSelectorChars, selectorShape} from '../../../../shared/field-rules.ts';
import {
  filterActions,
  filterMatches,
  headerName,
  maxCommentChars,
  maxPoints,
  patternFault,
} from '../../../../shared/filter-rules.ts';
import type {MailFilter} from '../../../../shared/mail-filter.ts';
import {askByForm, askToDefer} from '../../shell/asking.ts';
import type {FormField, FormValues} from '../../shell/modal.ts';
import type {DomainServices} from './domain-actions.ts';

type Name = Pick<Domain, 'id' | 'name'>;

export const openNewFilter = ({app, shell, onChange}: DomainServices, domain: Name): void =>
  askByForm(shell, {
    title: `New mail filter of ${domain.name}`,
    fields: filterFields,
    check: filterFaults,
    question: typed => [`Add this mail filter to ${domain.name}?`, ...filterLines(newFilterOf(typed))],
    yes: 'add',
    send: async typed => (await app.client.domains.addFilter(domain.id, newFilterOf(typed))).data,
    onDone: filter => {
      shell.say(`Added to ${domain.name}: ${filterText(filter)}`, 'good');
      onChange();
    },
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
  {name: 'comment', label: 'Comment', value: '', hint: 'why the filter exists'},
];

/** Errors by field, as the node would report them. */
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

export const actionText = ({action, score}: Pick<MailFilter, 'action' | 'score'>): string => {
  if (action === 'score') return `± ${(score ?? 0) > 0 ? '+' : ''}${score ?? 0}`;
  return action === 'allow' ? '✓ allow' : '✗ block';
};

export const matchText = ({match, header}: Pick<MailFilter, 'match' | 'header'>): string =>
  match === 'header' ? `header ${header ?? ''}` : match;

const filterText = (filter: Pick<MailFilter, 'action' | 'score' | 'match' | 'header' | 'pattern'>): string =>
  `${actionText(filter)}, ${matchText(filter)}: ${filter.pattern}`;

const filterLines = (filter: NewFilter): string[] => [
  `  ${filterText(filter)}`,
  ...(filter.comment === null ? [] : [`  ${filter.comment}`]),
];

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
