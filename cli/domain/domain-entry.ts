// Domain as `domain export` writes it and `domain apply` reads it: its settings, without ids and times.
import {ascending} from '../../shared/ascending.ts';
import type {Domain} from '../../shared/domain.ts';
import type {CreateMailFilter, MailFilter} from '../../shared/mail-filter.ts';

/** In the order of the file. */
export const settingNames = [
  'direction',
  'active',
  'backend_servers',
  'quarantine_threshold',
  'reject_threshold',
  'dkim_active',
  'dmarc_reporting',
  'tenant_id',
] as const satisfies readonly (keyof Domain)[];
export type SettingName = (typeof settingNames)[number];
export type Settings = Pick<Domain, SettingName>;

export const ruleNames = [
  'action',
  'match',
  'header',
  'pattern',
  'score',
  'comment',
] as const satisfies readonly (keyof MailFilter)[];
/** A mail filter in the form that is stored. */
export type FilterRule = Pick<CreateMailFilter, (typeof ruleNames)[number]>;

export interface DomainEntry {
  name: string;
  /** The settings that the file contains. */
  settings: Partial<Settings>;
  /** Undefined when the file does not mention them. */
  filters: FilterRule[] | undefined;
}

export const settingsOf = (domain: Domain): Settings =>
  Object.fromEntries(settingNames.map(name => [name, domain[name]])) as unknown as Settings;

const ruleOf = (filter: FilterRule): FilterRule =>
  Object.fromEntries(ruleNames.map(name => [name, filter[name]])) as unknown as FilterRule;

/** Equal exactly for filters with the same members. */
export const ruleKey = (rule: FilterRule): string => JSON.stringify(ruleNames.map(name => rule[name]));

const sortKey = ({match, header, pattern, action, score, comment}: FilterRule): string =>
  JSON.stringify([match, header, pattern, action, score, comment]);

/** In a stable order: it means nothing to the node, but must not change between two exports. */
export const sortedRules = (filters: readonly FilterRule[]): FilterRule[] =>
  filters.map(ruleOf).sort((a, b) => ascending(sortKey(a), sortKey(b)));
