// The settings of a domain as mfctl knows them, each declared once: its flags, columns, details, the field of forms, and the order in
// files. Their rules are the schemas in shared/domain.ts.
import type {Domain} from '../../shared/domain.ts';
import {directions} from '../../shared/field-rules.ts';
import {firstOf} from '../output/cell-text.ts';
import type {Column, Tone} from '../output/column.ts';

export type SettingName = Exclude<keyof Domain, 'id' | 'name' | 'created_at' | 'updated_at'>;
export type Settings = Pick<Domain, SettingName>;

/** An option of `domain create` and `domain update`, or of one of them. */
interface Flag {
  flags: string;
  description: string;
  kind?: 'number' | 'list';
  choices?: readonly string[];
  only?: 'create' | 'update';
}

/** Options as commander parses them; those that were not given are undefined. */
export type FlagValues = Readonly<Record<string, unknown>>;

interface DomainField {
  /** In details and forms. */
  label: string;
  /** In forms. */
  hint: string;
  choices?: readonly string[];
  separator?: string;
  /** The value that a text stands for, right or wrong. */
  parse(text: string): unknown;
  flags: readonly Flag[];
  /** Undefined when no flag was given. */
  given(flags: FlagValues): unknown;
  /** The column of `domain list`; its cell is the value. */
  column: Omit<Column<Domain>, 'cell'> & {cell?: Column<Domain>['cell']};
  /** The column of the dashboard, of this width at least, where it has one. */
  screen?: {
    width: number;
    grow?: number;
    dropRank?: number;
    title?: string;
    cell?(domain: Domain): string;
    style?(domain: Domain): Tone;
  };
}

const yesNo = {choices: ['yes', 'no'], parse: (text: string) => text === 'yes'};
const numeric = /^[+-]?\d{1,9}(\.\d{1,20})?$/;
const score = {
  parse(text: string): unknown {
    const trimmed = text.trim();
    return numeric.test(trimmed) ? Number(trimmed) : trimmed;
  },
};

/** The API distinguishes numbers and names of tenants. */
const tenantOf = (text: string): string | number => (/^\d{1,15}$/.test(text) ? Number(text) : text);

/** In the order of files. */
export const domainFields: Readonly<Record<SettingName, DomainField>> = {
  direction: {
    label: 'Direction',
    hint: 'which mail is filtered: to the domain, from it, or both',
    choices: directions,
    parse: text => text,
    flags: [{flags: '--direction <direction>', description: 'which mail is filtered', choices: directions}],
    given: flags => flags.direction,
    column: {title: 'DIRECTION', dropRank: 3},
    screen: {width: 9, dropRank: 3},
  },
  active: {
    label: 'Active',
    hint: 'no: mail for it is answered 450, so that senders try again later',
    ...yesNo,
    flags: [
      {flags: '--active', description: 'take mail for it', only: 'update'},
      {flags: '--inactive', description: 'take no mail for it', only: 'update'},
      {flags: '--inactive', description: 'take no mail for it yet', only: 'create'},
    ],
    given: flags => (flags.inactive ? false : flags.active),
    column: {title: 'ACTIVE', tone: ({active}) => (active ? undefined : 'warn')},
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
    flags: [
      {
        flags: '--backend <host:port>',
        description: 'server that takes its mail, IPv6 in brackets; repeat it for more, tried in order',
        kind: 'list',
      },
    ],
    given: flags => flags.backend,
    column: {
      title: 'BACKENDS',
      cell: domain => firstOf(domain.backend_servers),
      wide: domain => domain.backend_servers.join(', '),
      isFlexible: true,
    },
    screen: {width: 15, grow: 2},
  },
  quarantine_threshold: {
    label: 'Quarantine at',
    hint: 'mail is held from this score on',
    ...score,
    flags: [{flags: '--quarantine-threshold <score>', description: 'hold mail from this score on', kind: 'number'}],
    given: flags => flags.quarantineThreshold,
    column: {title: 'QUARANTINE', align: 'right'},
    screen: {title: 'HOLD', width: 5},
  },
  reject_threshold: {
    label: 'Reject at',
    hint: 'mail is refused from this score on; not below the one above',
    ...score,
    flags: [{flags: '--reject-threshold <score>', description: 'refuse mail from this score on', kind: 'number'}],
    given: flags => flags.rejectThreshold,
    column: {title: 'REJECT', align: 'right'},
    screen: {width: 6},
  },
  dkim_active: {
    label: 'DKIM',
    hint: 'sign outbound mail with every DKIM key of the domain',
    ...yesNo,
    flags: [
      {flags: '--dkim', description: 'sign outbound mail'},
      {flags: '--no-dkim', description: 'do not sign outbound mail'},
    ],
    given: flags => flags.dkim,
    column: {title: 'DKIM', dropRank: 2},
    screen: {width: 4},
  },
  dmarc_reporting: {
    label: 'DMARC reporting',
    hint: 'send DMARC reports',
    ...yesNo,
    flags: [
      {flags: '--dmarc-reporting', description: 'send DMARC reports'},
      {flags: '--no-dmarc-reporting', description: 'send no DMARC reports'},
    ],
    given: flags => flags.dmarcReporting,
    column: {title: 'DMARC REPORTING', isWideOnly: true},
    screen: {title: 'DMARC', width: 5, dropRank: 2},
  },
  tenant_id: {
    label: 'Tenant',
    hint: 'its tenant: a number or a name; empty for none',
    parse: text => (text.trim() === '' ? null : tenantOf(text.trim())),
    flags: [
      {flags: '--tenant-id <id>', description: 'tenant it belongs to'},
      {flags: '--no-tenant-id', description: 'belongs to no tenant', only: 'update'},
    ],
    given: ({tenantId}) => (tenantId === false ? null : typeof tenantId === 'string' ? tenantOf(tenantId) : undefined),
    column: {title: 'TENANT', isWideOnly: true},
  },
};

export const settingNames = Object.keys(domainFields) as SettingName[];

export const settingsOf = (domain: Domain): Settings =>
  Object.fromEntries(settingNames.map(name => [name, domain[name]])) as unknown as Settings;

/** The settings that differ, with the values of the second. */
export const differences = (base: Settings, other: Settings): Partial<Settings> =>
  Object.fromEntries(settingNames.filter(name => !isSame(base[name], other[name])).map(name => [name, other[name]]));

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
