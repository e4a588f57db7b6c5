// Check of an SPF record (RFC 7208) by what it means: whether mail from the nodes passes, and mail from everybody does not.
import {loadMailauth} from '../authentication/mailauth.ts';
import {type CheckNeeds, differs, type Finding, missing, named, noAnswer, right, textsOf} from './finding.ts';

export const checkSpf = async ({facts, lookup, addresses}: CheckNeeds): Promise<Finding> => {
  const {name} = facts.domain;
  const found = (await textsOf(lookup, name)).filter(text => /^v=spf1( |$)/i.test(text));
  const [text, another] = found;
  if (text === undefined) return missing;
  if (another !== undefined) return differs(found, `${found.length} SPF records, and receivers then use none of them`);
  const fault = faultOfEnd(text);
  if (fault !== undefined) return differs(found, fault);

  const {spf} = await loadMailauth();
  const nodes = [...(await addresses)].flatMap(([host, known]) => known.map(ip => ({host, ip})));
  if (nodes.length === 0) return differs(found, 'no node has an address in DNS');
  const results = await Promise.all(
    nodes.map(async ({host, ip}) => {
      const sender = `postmaster@${name}`;
      const {status} = await spf({ip, helo: host, sender, mta: host, resolver: lookup as never});
      return {host, ip, result: status.result};
    }),
  );
  if (results.some(({result}) => result === 'temperror')) return noAnswer;
  const refused = results.filter(({result}) => result !== 'pass').map(({host, ip, result}) => `${host} (${ip}): ${result}`);
  return refused.length === 0 ? right(found) : differs(found, `mail from nodes does not pass: ${named(refused)}`);
};

const faultOfEnd = (text: string): string | undefined => {
  const terms = text.toLowerCase().split(/ +/);
  const all = terms.find(term => /^[+?~-]?all$/.test(term));
  if (all === 'all' || all === '+all') return `${all} lets everybody send as this domain; end with -all or ~all`;
  if (all === '?all') return '?all says nothing about other senders; end with -all or ~all';
  if (all === undefined && !terms.some(term => term.startsWith('redirect='))) return 'the end is missing: -all or ~all';
  return undefined;
};
