import {noneIfMissing} from '../authentication/dmarc-lookups.ts';
import {type CheckNeeds, differs, type Finding, missing, named, right} from './finding.ts';

/** The exchangers must be the nodes, all of them and nothing else; their preferences are the administrator's business. */
export const checkMx = async ({facts, lookup, addresses}: CheckNeeds): Promise<Finding> => {
  const records = (await lookup(facts.domain.name, 'MX').catch(noneIfMissing)) as {exchange: string; priority: number}[];
  if (records.length === 0) return missing;

  const found = records.map(({exchange, priority}) => `${priority} ${exchange}.`);
  const exchangers = [...new Set(records.map(({exchange}) => exchange.toLowerCase()))];
  // RFC 7505.
  if (exchangers.every(name => name === '')) return differs(found, 'the record says that the domain takes no mail');

  const known = await addresses;
  const absent = facts.hosts.filter(host => !exchangers.includes(host));
  const foreign = exchangers.filter(name => !facts.hosts.includes(name));
  const lost = facts.hosts.filter(host => exchangers.includes(host) && known.get(host)?.length === 0);
  const faults = [
    ...(absent.length > 0 ? [`without ${named(absent)}`] : []),
    ...(foreign.length > 0 ? [`mail to ${named(foreign)} goes past the filter`] : []),
    ...(lost.length > 0 ? [`no address in DNS: ${named(lost)}`] : []),
  ];
  return faults.length === 0 ? right(found) : differs(found, faults.join('; '));
};
