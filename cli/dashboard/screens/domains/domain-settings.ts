// Settings of a domain as texts of a form, and the changes that were made in it.
import {domainDefaults} from '../../../../shared/field-rules.ts';
import type {LocalFault} from '../../../../shared/fields.ts';
import {
  domainFields,
  isSame,
  type SettingName,
  type Settings,
  settingNames,
  settingsOf,
  settingValue,
} from '../../../domain/domain-fields.ts';
import {byField, formFields, typedValues} from '../../shell/asking.ts';
import type {FormField, FormValues} from '../../shell/modal.ts';

/** The default settings of a new domain. */
export const newSettings: Settings = {...domainDefaults, retention: null};

export const valuesOf = (settings: Partial<Settings>): FormValues =>
  Object.fromEntries(settingNames.flatMap(name => (Object.hasOwn(settings, name) ? [[name, settingText(settings, name)]] : [])));

const settingText = (settings: Partial<Settings>, name: SettingName): string => {
  const value = settingValue(settings, name);
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return Array.isArray(value) ? value.join(', ') : String(value);
};

export const settingFields = (values: FormValues): FormField[] => formFields(domainFields, values);

/** What the texts of a form stand for, right or wrong. */
export const typedSettings = (values: FormValues): Settings => typedValues(domainFields, values) as unknown as Settings;

/**
 * The faults of the form by field, with the labels of the form. What is wrong between two fields belongs to the one that was changed:
 * there the cursor stays.
 */
export const settingFaults = (
  faults: readonly LocalFault[],
  {before, typed}: {before: FormValues; typed: FormValues},
): Record<string, string> => {
  const isChanged = (name: string): boolean => typed[name] !== before[name];
  const labelOf = (path: string): string =>
    settingNames.filter(name => name === path).map(name => domainFields[name].label)[0] ?? path;
  return byField(
    faults.map(({path, detail, other}) => {
      if (other === undefined) return {path, detail};
      const told = detail.replace(other, labelOf(other));
      if (!isChanged(other) || isChanged(path)) return {path, detail: told};
      return {path: other, detail: `${labelOf(path)} ${told}`};
    }),
  );
};

/** Only changed settings, so that saving does not undo changes of other fields. */
export const changesOf = (base: Settings, values: FormValues): Partial<Settings> => {
  const before = valuesOf(settingsOf(base));
  const typed = typedSettings(values);
  const changed = settingNames.filter(name => values[name] !== before[name] && !isSame(typed[name], base[name]));
  return Object.fromEntries(changed.map(name => [name, typed[name]]));
};

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
