// File of `domain apply`, checked as the node would check it: nothing is changed before all of it is valid.
import {canonicalDomain} from '../../shared/domain-name.ts';
import {directions, maxBackends, maxTenantChars, scoreRange} from '../../shared/field-rules.ts';
import {parseHostPort} from '../../shared/host-port.ts';
import type {Terminal} from '../command-line/terminal.ts';
import type {LineFault} from '../files/bounded-yaml.ts';
import {isMapping, labelFault, type Path, type ReportFault, reportUnknownMembers} from '../files/text-file.ts';
import {readYamlFile, wrongFile} from '../files/yaml-file.ts';
import {
  allDomains,
  type DomainEntry,
  type FilterRule,
  readRules,
  type SettingName,
  type Settings,
  settingNames,
} from './domain-entry.ts';

export interface DomainFile {
  entries: DomainEntry[];
  /** The filters for all domains; undefined when the file does not mention them. */
  allDomains: FilterRule[] | undefined;
  /** For faults that are found in the entries later; without an index, in those filters. */
  fault(index: number | undefined, detail: string): LineFault;
  /** The error that lists all faults. */
  wrong(faults: readonly LineFault[]): Error;
}

export const readDomainFile = async (file: string, terminal: Terminal): Promise<DomainFile> => {
  const {name, value, lineOf} = await readYamlFile(file, terminal);
  const faults: LineFault[] = [];
  const reportFault: ReportFault = (path, detail) => {
    faults.push({line: lineOf(path), detail: `${path.length > 0 ? `${nameOfPath(value, path)} ` : ''}${detail}`});
  };

  const entries = entriesIn(value, reportFault, at => lineOf(['domains', at]));
  const globalRules = isMapping(value) ? globalRulesIn(value, reportFault) : undefined;
  if (faults.length > 0) throw wrongFile(name, faults);
  return {
    entries,
    allDomains: globalRules,
    fault: (index, detail) =>
      index === undefined
        ? {line: lineOf([allDomains]), detail: `${allDomains} ${detail}`}
        : {line: lineOf(['domains', index]), detail: `${entries[index]?.name} ${detail}`},
    wrong: found => wrongFile(name, found),
  };
};

const entriesIn = (value: unknown, reportFault: ReportFault, lineOfEntry: (at: number) => number): DomainEntry[] => {
  if (!isMapping(value)) {
    reportFault([], 'the file must be a mapping with domains: a list');
    return [];
  }
  reportUnknownMembers(value, [allDomains, 'domains'], [], reportFault);
  const {domains} = value;
  // An empty file is most often the result of a failed command, and with --prune it would delete everything.
  if (!Array.isArray(domains)) {
    reportFault(
      ['domains'],
      domains === undefined ? 'is missing: a list of domains, [] for none' : 'must be a list, [] for none',
    );
    return [];
  }

  const firstOf = new Map<string, number>();
  return domains.flatMap((domain: unknown, at) => {
    const entry = entryIn(domain, ['domains', at], reportFault);
    if (!entry) return [];
    const first = firstOf.get(entry.name);
    if (first === undefined) firstOf.set(entry.name, at);
    else reportFault(['domains', at, 'name'], `is there twice: ${entry.name} is on line ${lineOfEntry(first)} already`);
    return [entry];
  });
};

const globalRulesIn = (file: Record<string, unknown>, reportFault: ReportFault): FilterRule[] | undefined => {
  if (!Object.hasOwn(file, allDomains)) return undefined;
  const value = file[allDomains];
  if (isMapping(value)) {
    reportUnknownMembers(value, ['filters'], [allDomains], reportFault);
    if (Object.hasOwn(value, 'filters')) return readRules(value.filters, [allDomains, 'filters'], reportFault);
  }
  reportFault([allDomains], 'must be a mapping with filters: a list, [] for none');
  return undefined;
};

const entryIn = (value: unknown, path: Path, reportFault: ReportFault): DomainEntry | undefined => {
  if (!isMapping(value)) {
    reportFault(path, 'must be a mapping with name');
    return undefined;
  }
  reportUnknownMembers(value, ['name', ...settingNames, 'filters'], path, reportFault);
  const name = typeof value.name === 'string' ? canonicalDomain(value.name) : undefined;
  if (name === undefined)
    reportFault(
      [...path, 'name'],
      value.name === undefined ? 'is missing' : 'must be a host name with a dot, such as example.com',
    );

  const settings: Partial<Record<SettingName, unknown>> = {};
  for (const setting of settingNames) {
    if (!Object.hasOwn(value, setting)) continue;
    const fault = settingFaults[setting](value[setting]);
    if (fault !== undefined) reportFault([...path, setting], fault);
    else settings[setting] = canonicalSetting(value[setting]);
  }
  const filters = Object.hasOwn(value, 'filters') ? readRules(value.filters, [...path, 'filters'], reportFault) : undefined;
  return name === undefined ? undefined : {name, settings: settings as Partial<Settings>, filters};
};

const isBoolean = (value: unknown) => (typeof value === 'boolean' ? undefined : 'must be true or false');

const isScore = (value: unknown) => {
  const {min, max} = scoreRange;
  return typeof value === 'number' && value >= min && value <= max ? undefined : `must be a number from ${min} to ${max}`;
};

const settingFaults: Record<SettingName, (value: unknown) => string | undefined> = {
  direction: value =>
    (directions as readonly unknown[]).includes(value) ? undefined : `must be one of ${directions.join(', ')}`,
  active: isBoolean,
  backend_servers: value => {
    if (!Array.isArray(value)) return 'must be a list of host:port';
    if (value.length > maxBackends) return `must have at most ${maxBackends} entries`;
    const wrong: unknown = value.find(server => typeof server !== 'string' || !parseHostPort(server));
    return wrong === undefined ? undefined : `has ${JSON.stringify(wrong)}: it must be host:port, IPv6 in brackets`;
  },
  quarantine_threshold: isScore,
  reject_threshold: isScore,
  dkim_active: isBoolean,
  dmarc_reporting: isBoolean,
  tenant_id: value => {
    if (value === null || Number.isSafeInteger(value)) return undefined;
    return labelFault(value, maxTenantChars) && `must be a whole number, a text of at most ${maxTenantChars} characters, or null`;
  },
};

/** The node trims labels; -0 becomes 0 on the way. */
const canonicalSetting = (value: unknown): unknown => {
  if (typeof value === 'string') return value.trim();
  return value === 0 ? 0 : value;
};

/** `example.com: filters.0.pattern`, or `domains.3: name` when the name itself is wrong; `all_domains: filters.0.pattern`. */
const nameOfPath = (value: unknown, path: Path): string => {
  const [first, index, ...rest] = path;
  if (index === undefined) return String(first);
  if (first === allDomains) return `${first}: ${path.slice(1).join('.')}`;
  const domains = isMapping(value) && Array.isArray(value.domains) ? (value.domains as unknown[]) : [];
  const domain = domains[Number(index)];
  const name =
    isMapping(domain) && typeof domain.name === 'string' && canonicalDomain(domain.name) ? domain.name : `${first}.${index}`;
  return rest.length > 0 ? `${name}: ${rest.join('.')}` : name;
};
