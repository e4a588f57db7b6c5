import {reasons} from '../../../../shared/reason.ts';
import {filterNames} from '../../../quarantine/query-line.ts';

/** Known names of the cluster. */
export interface KnownNames {
  domains: readonly string[];
  nodes: readonly string[];
}

const offered = ['domain:', 'from:', 'to:', 'subject:', 'since:', 'until:', 'score>=', 'score<', 'reason:', 'node:'];
const durations = ['1h', '2h', '6h', '1d', '2d', '1w'];
const most = 50;

/** Completions of the last part of the line; each is a whole line. */
export const completeQuery = (text: string, known: KnownNames): string[] => {
  const [, before = '', last = ''] = /^(.*?)(\S*)$/s.exec(text) ?? [];
  const [, name, value] = /^([A-Za-z_]+):(.*)$/s.exec(last) ?? [];
  const found =
    name === undefined || value === undefined
      ? offered.filter(start => start.startsWith(last.toLowerCase()))
      : valuesOf(name.toLowerCase(), known)
          .filter(each => each.startsWith(value.toLowerCase()) && each !== value)
          .map(each => `${name}:${each}`);
  return found.slice(0, most).map(each => before + each);
};

const valuesOf = (name: string, {domains, nodes}: KnownNames): readonly string[] => {
  switch (filterNames[name]) {
    case 'domain':
      return domains;
    case 'node':
      return nodes;
    case 'reason':
      return reasons;
    case 'since':
    case 'until':
      return durations;
    default:
      return [];
  }
};
