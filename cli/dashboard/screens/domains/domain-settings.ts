// Settings of a domain as texts of a form, and the changes that were made in it.
import {canonicalDomain} from '../../../../shared/domain-name.ts';
import {
  areThresholdsInOrder,
  directions,
  domainDefaults,
  hasBackend,
  maxBackends,
  maxTenantChars,
  scoreRange,
} from '../../../../shared/field-rules.ts';
import {parseHostPort} from '../../../../shared/host-port.ts';
import {type SettingName, type Settings, settingNames} from '../../../domain/domain-entry.ts';
import type {FormField, FormValues} from '../../shell/modal.ts';

const yesNo = ['yes', 'no'] as const;

/** The default settings of a new domain. */
export const newSettings: Settings = domainDefaults;

export const valuesOf = (settings: Partial<Settings>): FormValues =>
  Object.fromEntries(settingNames.flatMap(name => (Object.hasOwn(settings, name) ? [[name, settingText(settings, name)]] : [])));

const settingText = (settings: Partial<Settings>, name: SettingName): string => {
  const value = settings[name];
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return Array.isArray(value) ? value.join(', ') : String(value);
};

export const settingFields = (values: FormValues): FormField[] => {
  const field = (name: SettingName, label: string, rest: Pick<FormField, 'choices' | 'hint' | 'separator'>): FormField => ({
    name,
    label,
    value: values[name] ?? '',
    ...rest,
  });
  return [
    field('direction', 'Direction', {choices: directions, hint: 'which mail is filtered: to the domain, from it, or both'}),
    field('active', 'Active', {choices: yesNo, hint: 'no: mail for it is answered 450, so that senders try again later'}),
    field('backend_servers', 'Backends', {
      hint: 'host:port of its mail servers, tried in order, with commas between',
      separator: ', ',
    }),
    field('quarantine_threshold', 'Quarantine at', {hint: 'mail is held from this score on'}),
    field('reject_threshold', 'Reject at', {hint: 'mail is refused from this score on; not below the one above'}),
    field('dkim_active', 'DKIM', {choices: yesNo, hint: 'sign outbound mail with every DKIM key of the domain'}),
    field('dmarc_reporting', 'DMARC reporting', {choices: yesNo, hint: 'send DMARC reports'}),
    field('tenant_id', 'Tenant', {hint: 'whose it is: a number or a name; empty for nobody'}),
  ];
};

const number = /^[+-]?\d{1,9}(\.\d{1,20})?$/;

/** Errors by field, as the node would report them, as far as they can be checked here. */
export const settingFaults = (values: FormValues): Record<string, string> => {
  const faults: Record<string, string> = {};
  const {direction, backend_servers: servers, tenant_id: tenant} = typedSettings(values);
  const wrong = servers.find(server => !parseHostPort(server));
  if (wrong !== undefined) faults.backend_servers = `${wrong} is no host:port such as mail.example.com:25; IPv6 in brackets`;
  else if (!hasBackend({direction, backend_servers: servers}))
    faults.backend_servers = 'needs at least one host:port, unless the direction is outbound';
  else if (servers.length > maxBackends) faults.backend_servers = `must be at most ${maxBackends}`;

  const {min, max} = scoreRange;
  for (const name of ['quarantine_threshold', 'reject_threshold'] as const) {
    const score = scoreOf(values[name]);
    if (score === undefined || score < min || score > max) faults[name] = `must be a number from ${min} to ${max}`;
  }
  const [hold = min, reject = max] = [scoreOf(values.quarantine_threshold), scoreOf(values.reject_threshold)];
  if (!areThresholdsInOrder({quarantine_threshold: hold, reject_threshold: reject})) {
    faults.quarantine_threshold ??= `must not be above the score mail is rejected at (${reject})`;
    faults.reject_threshold ??= `must not be below the score mail is held at (${hold})`;
  }
  if (String(tenant ?? '').length > maxTenantChars) faults.tenant_id = `must be at most ${maxTenantChars} characters`;
  return faults;
};

export const nameFault = (name: string): string | undefined =>
  canonicalDomain(name.trim()) === undefined ? 'must be a host name with at least one dot, such as example.com' : undefined;

/** Only changed settings, so that saving does not undo changes of other fields. Values have passed `settingFaults`. */
export const changesOf = (base: Settings, values: FormValues): Partial<Settings> => {
  const before = valuesOf(base);
  const typed = typedSettings(values);
  const changed = settingNames.filter(name => values[name] !== before[name] && !isSame(typed[name], base[name]));
  return Object.fromEntries(changed.map(name => [name, typed[name]]));
};

/** The settings that differ, with the values of the second. */
export const differences = (base: Settings, other: Settings): Partial<Settings> =>
  Object.fromEntries(settingNames.filter(name => !isSame(base[name], other[name])).map(name => [name, other[name]]));

/** One line for each setting: `quarantine_threshold  6`. */
export const settingLines = (settings: Settings): string[] => {
  const width = Math.max(...settingNames.map(name => name.length));
  return settingNames.map(name => `${name.padEnd(width)}  ${shown(settings, name)}`);
};

/** One line for each change: `quarantine_threshold  6 → 4`. */
export const diffLines = (base: Settings, changes: Partial<Settings>): string[] => {
  const names = settingNames.filter(name => Object.hasOwn(changes, name));
  const width = Math.max(0, ...names.map(name => name.length));
  return names.map(name => `${name.padEnd(width)}  ${shown(base, name)} → ${shown(changes, name)}`);
};

const shown = (settings: Partial<Settings>, name: SettingName): string => settingText(settings, name) || 'none';

const typedSettings = (values: FormValues): Settings => ({
  direction: directions.find(direction => direction === values.direction) ?? 'inbound',
  active: values.active === 'yes',
  backend_servers: serversOf(values.backend_servers),
  quarantine_threshold: scoreOf(values.quarantine_threshold) ?? newSettings.quarantine_threshold,
  reject_threshold: scoreOf(values.reject_threshold) ?? newSettings.reject_threshold,
  dkim_active: values.dkim_active === 'yes',
  dmarc_reporting: values.dmarc_reporting === 'yes',
  tenant_id: tenantOf(values.tenant_id),
});

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const serversOf = (text = ''): string[] => text.split(/[\s,]+/).filter(Boolean);

const scoreOf = (text = ''): number | undefined => (number.test(text.trim()) ? Number(text) : undefined);

/** The API distinguishes numbers and names of tenants. */
const tenantOf = (text = ''): Settings['tenant_id'] => {
  const tenant = text.trim();
  if (tenant === '') return null;
  return /^\d{1,15}$/.test(tenant) ? Number(tenant) : tenant;
};
