// Mail filters, and DKIM keys of a domain: made by a form, removed after a question.

import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {letsIn} from '../../../../shared/filter-rules.ts';
import type {CreateMailFilter, GlobalFilter} from '../../../../shared/mail-filter.ts';
import {loadRules} from '../../../command-line/rules.ts';
import {newDkimFields} from '../../../domain/dkim-fields.ts';
import {actionText, type FilterFacts, fromText, matchText, ruleFields} from '../../../filter/filter-fields.ts';
import type {FilterList} from '../../../filter/filter-list.ts';
import {type AskingShell, askByForm, askToDefer, byField, formFields, typedValues} from '../../shell/asking.ts';
import type {FormValues} from '../../shell/modal.ts';
import {guarded} from '../../shell/shell.ts';
import type {DomainServices} from './domain-actions.ts';

type Name = Pick<Domain, 'id' | 'name'>;

/** Whose filters: those of a domain, or of `all domains`. */
export interface FilterOwner {
  name: string;
  filters: FilterList;
}

export interface PartServices {
  shell: AskingShell;
  /** Called after a change. */
  onChange(): void;
}

export const openNewFilter = ({shell, onChange}: PartServices, {name, filters}: FilterOwner): Promise<void> =>
  guarded(shell, async () => {
    const {newFilter} = await loadRules();
    askByForm(shell, {
      title: `New mail filter for ${name}`,
      fields: formFields(ruleFields, {action: 'block', match: 'sender', authenticated: 'yes'}),
      check: typed => byField(newFilter(typedFilter(typed)).faults),
      // As it is stored, which is what the node compares mail with.
      question: typed => {
        const filter = typedFilter(typed);
        return [`Add this mail filter to ${name}?`, ...filterLines(newFilter(filter).data ?? filter)];
      },
      yes: 'add',
      send: async typed => (await filters.add(typedFilter(typed))).data,
      onDone: filter => {
        shell.say(`Added to ${name}: ${filterText(filter)}`, 'good');
        onChange();
      },
    });
  });

/** What the texts of the form stand for, right or wrong. A filter that keeps mail out has no `authenticated`. */
export const typedFilter = (values: FormValues): CreateMailFilter => {
  const {authenticated, ...filter} = typedValues(ruleFields, values) as unknown as CreateMailFilter;
  return letsIn(filter) ? {...filter, authenticated} : filter;
};

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

export const askToRemoveFilter = ({shell, onChange}: PartServices, {name, filters}: FilterOwner, filter: GlobalFilter): void =>
  askToDefer(shell, {
    lines: [`Remove this mail filter for ${name}?`, ...filterLines(filter)],
    yes: 'remove',
    what: `remove the filter ${filterText(filter)} for ${name}`,
    run: async () => {
      await filters.remove(filter.id);
      return `Removed from ${name}: ${filterText(filter)}`;
    },
    onSettled: onChange,
  });

interface DkimNeeds extends DomainServices {
  onCreated(key: DkimKey): void;
}

export const openNewDkimKey = (needs: DkimNeeds, domain: Name, keys: readonly DkimKey[]): Promise<void> =>
  guarded(needs.shell, async () => {
    const {app, shell, onChange, onCreated} = needs;
    const {newDkimKey} = await loadRules();
    askByForm(shell, {
      title: `New DKIM key of ${domain.name}`,
      fields: formFields(newDkimFields, {algorithm: 'rsa-2048'}),
      check: typed => {
        const {data, faults} = newDkimKey(typedValues(newDkimFields, typed));
        return keys.some(({selector}) => selector === data?.selector)
          ? {selector: 'is taken by another key of the domain'}
          : byField(faults);
      },
      question: typed => [
        `Make a DKIM key of ${domain.name}?`,
        ...Object.entries(typedValues(newDkimFields, typed)).map(([name, value]) => `  ${name.padEnd(9)}  ${value}`),
      ],
      yes: 'make it',
      send: async typed => (await app.client.domains.createDkimKey(domain.id, typedValues(newDkimFields, typed))).data,
      onDone: key => {
        shell.say(`Made the DKIM key ${key.selector} of ${domain.name}: publish its record first, then switch DKIM on`, 'good');
        onChange();
        onCreated(key);
      },
    });
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
