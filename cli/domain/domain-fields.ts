// The settings of a domain as mfctl knows them, each declared once: its flags, columns, details, the field of forms, and the order in
// files. Their rules are the schemas in shared/domain.ts.
import type {Domain} from '../../shared/domain.ts';
import {directions} from '../../shared/field-rules.ts';
import type {DomainRetention} from '../../shared/retention.ts';
import {retentionText, typedRetention} from '../../shared/retention-text.ts';
import {type TypedField, typedNumber} from '../command-line/field-options.ts';
import {collected, decimal} from '../command-line/option-values.ts';
import {dateText, firstOf, timeText} from '../output/cell-text.ts';
import type {Cell} from '../output/column.ts';
import {columnsOf, type Field} from '../output/field.ts';
import type {Listed, Shown} from '../output/table.ts';

export type SettingName = Exclude<keyof Domain, 'id' | 'name' | 'created_at' | 'updated_at'>;
export type Settings = Pick<Domain, SettingName>;

/** Options as commander parses them; those that were not given are undefined. */
export type FlagValues = Readonly<Record<string, unknown>>;

const yesNo = {choices: ['yes', 'no'], parse: (text: string) => text === 'yes'};

/** The API distinguishes numbers and names of tenants. */
const tenantOf = (text: string): string | number => (/^\d{1,15}$/.test(text) ? Number(text) : text);

interface DomainField extends Field<Domain>, TypedField<FlagValues> {
  /** The value as one line, where it is neither a list nor plain. */
  text?(value: unknown): string;
}

/** In the order of files. */
export const domainFields: Readonly<Record<SettingName, DomainField>> = {
  direction: {
    label: 'Direction',
    hint: 'which mail is filtered: to the domain, from it, or both',
    choices: directions,
    parse: text => text,
    options: [{flags: '--direction <direction>', description: 'which mail is filtered', choices: directions}],
    given: flags => flags.direction,
    cell: ({direction}) => direction,
    column: {dropRank: 3},
    screen: {width: 9, dropRank: 3},
  },
  active: {
    label: 'Active',
    hint: 'no: mail for it is answered 450, so that senders try again later',
    ...yesNo,
    options: [
      {flags: '--active', description: 'take mail for it', conflicts: 'inactive', only: 'update'},
      {flags: '--inactive', description: 'take no mail for it', only: 'update'},
      {flags: '--inactive', description: 'take no mail for it yet', only: 'create'},
    ],
    given: flags => (flags.inactive ? false : flags.active),
    cell: ({active}) => active,
    column: {tone: ({active}) => (active ? undefined : 'warn')},
    screen: {
      title: 'STATE',
      cell: ({active}) => (active ? '● active' : '○ inactive'),
      width: 10,
      style: ({active}) => (active ? 'good' : 'warn'),
    },
  },
  backend_servers: {
    label: 'Backends',
    hint: 'host:port of its mail servers, tried in order, with commas between',
    separator: ', ',
    parse: text => text.split(/[\s,]+/).filter(Boolean),
    options: [
      {
        flags: '--backend <host:port>',
        description: 'server that takes its mail, IPv6 in brackets; repeat it for more, tried in order',
        parse: collected,
      },
    ],
    given: flags => flags.backend,
    cell: ({backend_servers}) => firstOf(backend_servers),
    column: {
      wide: domain => domain.backend_servers.join(', '),
      isFlexible: true,
    },
    screen: {width: 15, grow: 2, dropRank: 5},
  },
  quarantine_threshold: {
    label: 'Quarantine at',
    hint: 'mail is held from this score on',
    parse: typedNumber,
    options: [{flags: '--quarantine-threshold <score>', description: 'hold mail from this score on', parse: decimal}],
    given: flags => flags.quarantineThreshold,
    cell: ({quarantine_threshold}) => quarantine_threshold,
    column: {title: 'QUARANTINE', align: 'right'},
    screen: {title: 'HOLD', width: 5},
  },
  reject_threshold: {
    label: 'Reject at',
    hint: 'mail is refused from this score on; not below the one above',
    parse: typedNumber,
    options: [{flags: '--reject-threshold <score>', description: 'refuse mail from this score on', parse: decimal}],
    given: flags => flags.rejectThreshold,
    cell: ({reject_threshold}) => reject_threshold,
    column: {title: 'REJECT', align: 'right'},
    screen: {width: 6},
  },
  dkim_active: {
    label: 'DKIM',
    hint: 'sign outbound mail with every DKIM key of the domain',
    ...yesNo,
    options: [
      {flags: '--dkim', description: 'sign outbound mail'},
      {flags: '--no-dkim', description: 'do not sign outbound mail'},
    ],
    given: flags => flags.dkim,
    cell: ({dkim_active}) => dkim_active,
    column: {dropRank: 2},
    screen: {width: 4, dropRank: 4},
  },
  dmarc_reporting: {
    label: 'DMARC reporting',
    hint: 'send DMARC reports',
    ...yesNo,
    options: [
      {flags: '--dmarc-reporting', description: 'send DMARC reports'},
      {flags: '--no-dmarc-reporting', description: 'send no DMARC reports'},
    ],
    given: flags => flags.dmarcReporting,
    cell: ({dmarc_reporting}) => dmarc_reporting,
    column: {isWideOnly: true},
    screen: {title: 'DMARC', width: 5, dropRank: 2},
  },
  tenant_id: {
    label: 'Tenant',
    hint: 'its tenant: a number or a name; empty for none',
    parse: text => (text.trim() === '' ? null : tenantOf(text.trim())),
    options: [
      {flags: '--tenant-id <id>', description: 'tenant it belongs to'},
      {flags: '--no-tenant-id', description: 'belongs to no tenant', only: 'update'},
    ],
    given: ({tenantId}) => (tenantId === false ? null : typeof tenantId === 'string' ? tenantOf(tenantId) : undefined),
    cell: ({tenant_id}) => tenant_id,
    column: {isWideOnly: true},
  },
  retention: {
    label: 'Days held',
    hint: 'days its mail is held, such as 14 or 14, phishing 60; empty: as the node says',
    parse: typedRetention,
    text: value => retentionText(value as DomainRetention | null | undefined),
    // `domain retention` has them.
    options: [],
    given: () => undefined,
    cell: ({retention}) => retentionText(retention) || null,
    column: {isWideOnly: true},
  },
};

export const settingNames = Object.keys(domainFields) as SettingName[];

const columns = columnsOf(Object.values(domainFields));

export const domains: Listed<Domain> & Shown<Domain> = {
  fields: ['id', 'name', ...settingNames, 'created_at', 'updated_at'],
  nameOf: ({name}) => name,
  columns: [
    {title: 'ID', cell: domain => domain.id, align: 'right'},
    {title: 'NAME', cell: domain => domain.name, isFlexible: true},
    ...columns.filter(({isWideOnly}) => !isWideOnly),
    {title: 'UPDATED', cell: domain => timeText(domain.updated_at), brief: domain => dateText(domain.updated_at), dropRank: 1},
    ...columns.filter(({isWideOnly}) => isWideOnly),
    {title: 'CREATED', cell: domain => timeText(domain.created_at), isWideOnly: true},
  ],
  details: domain => [
    ['ID', domain.id],
    ['Name', domain.name],
    ...settingNames.map(name => [domainFields[name].label, settingValue(domain, name)] as const),
    ['Created', timeText(domain.created_at)],
    ['Updated', timeText(domain.updated_at)],
  ],
  isShort: true,
  none: 'no domains; create one: mfctl domain create --help',
};

/** For people: null for none. */
export const settingValue = (settings: Partial<Settings>, name: SettingName): Cell | readonly string[] => {
  const {text} = domainFields[name];
  return text ? text(settings[name]) || null : (settings[name] as Cell | readonly string[]);
};

/** A setting that is absent is null, so that a file that is applied says that there is none. */
export const settingsOf = (domain: Settings): Settings =>
  Object.fromEntries(settingNames.map(name => [name, domain[name] ?? null])) as unknown as Settings;

/** The settings that differ, with the values of the second. */
export const differences = (base: Settings, other: Settings): Partial<Settings> =>
  Object.fromEntries(settingNames.filter(name => !isSame(base[name], other[name])).map(name => [name, other[name]]));

/** A setting that is absent is null. */
export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
