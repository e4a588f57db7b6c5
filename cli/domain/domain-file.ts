// File of `domain apply`, checked as the node would check it: nothing is changed before all of it is valid.
import {canonicalDomain, domainNameFault} from '../../shared/domain-name.ts';
import {loadRules} from '../command-line/rules.ts';
import type {Terminal} from '../command-line/terminal.ts';
import type {LineFault} from '../files/bounded-yaml.ts';
import {isMapping, type Path, type ReportFault, reportUnknownMembers} from '../files/text-file.ts';
import {readYamlFile, wrongFile} from '../files/yaml-file.ts';
import {
  allDomains,
  type DomainEntry,
  type FilterRule,
  onlyMembers,
  type Reading,
  readRules,
  reportFaults,
  withPlainZero,
} from './domain-entry.ts';
import {type Settings, settingNames} from './domain-fields.ts';

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

  const reading = {rules: await loadRules(), reportFault};
  const entries = entriesIn(value, reading, at => lineOf(['domains', at]));
  const globalRules = isMapping(value) ? globalRulesIn(value, reading) : undefined;
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

const entriesIn = (value: unknown, reading: Reading, lineOfEntry: (at: number) => number): DomainEntry[] => {
  const {reportFault} = reading;
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
    const entry = entryIn(domain, ['domains', at], reading);
    if (!entry) return [];
    const first = firstOf.get(entry.name);
    if (first === undefined) firstOf.set(entry.name, at);
    else reportFault(['domains', at, 'name'], `is there twice: ${entry.name} is on line ${lineOfEntry(first)} already`);
    return [entry];
  });
};

const globalRulesIn = (file: Record<string, unknown>, reading: Reading): FilterRule[] | undefined => {
  const {reportFault} = reading;
  if (!Object.hasOwn(file, allDomains)) return undefined;
  const value = file[allDomains];
  if (isMapping(value)) {
    reportUnknownMembers(value, ['filters'], [allDomains], reportFault);
    if (Object.hasOwn(value, 'filters')) return readRules(value.filters, [allDomains, 'filters'], reading);
  }
  reportFault([allDomains], 'must be a mapping with filters: a list, [] for none');
  return undefined;
};

const entryIn = (value: unknown, path: Path, reading: Reading): DomainEntry | undefined => {
  const {reportFault} = reading;
  if (!isMapping(value)) {
    reportFault(path, 'must be a mapping with name');
    return undefined;
  }
  reportUnknownMembers(value, ['name', ...settingNames, 'filters'], path, reportFault);
  const nameFault = value.name === undefined ? 'is missing' : domainNameFault(String(value.name));
  const name = nameFault === undefined && typeof value.name === 'string' ? canonicalDomain(value.name) : undefined;
  if (name === undefined) reportFault([...path, 'name'], nameFault ?? 'must be a text');

  const {data: settings = {}, faults} = reading.rules.settings(onlyMembers(value, settingNames));
  reportFaults(faults, path, reportFault);
  const filters = Object.hasOwn(value, 'filters') ? readRules(value.filters, [...path, 'filters'], reading) : undefined;
  return name === undefined ? undefined : {name, settings: canonical(settings), filters};
};

const canonical = (settings: object): Partial<Settings> =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, withPlainZero(value)]));

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
