// Check of an SPF record (RFC 7208) by what it means: whether mail from the nodes passes, and mail from everybody does not.
import type {WantedRecord} from '../../services/dns/wanted-records.ts';
import {type CheckNeeds, differs, type Finding, missing, named, noAnswer, right, textsOf} from './finding.ts';

export const checkSpf = async (
  {values: [wantedText = '']}: WantedRecord,
  {facts, lookup, addresses, checkSender}: CheckNeeds,
): Promise<Finding> => {
  const {name} = facts.domain;
  const found = (await textsOf(lookup, name)).filter(text => /^v=spf1( |$)/i.test(text));
  const [text, another] = found;
  if (text === undefined) return missing;
  if (another !== undefined) return differs(found, `${found.length} SPF records, and receivers then use none of them`);
  const fault = faultOfEnd(text);
  const wanted = {values: [withNodes(text, wantedText)]};
  if (fault !== undefined) return {...differs(found, fault), ...wanted};

  const nodes = [...(await addresses)].flatMap(([host, known]) => known.map(ip => ({host, ip})));
  if (nodes.length === 0) return differs(found, 'no node has an address in DNS');
  const results = await Promise.all(
    nodes.map(async ({host, ip}) => {
      const sender = `postmaster@${name}`;
      return {host, ip, result: await checkSender({ip, helo: host, sender, mta: host})};
    }),
  );
  if (results.some(({result}) => result === 'temperror')) return noAnswer;
  const refused = results.filter(({result}) => result !== 'pass').map(({host, ip, result}) => `${host} (${ip}): ${result}`);
  if (refused.length === 0) return {...right(found), values: [text]};
  return {...differs(found, `mail from nodes does not pass: ${named(refused)}`), ...wanted};
};

/** The same record with the nodes added before the other senders, so that pasting it drops nobody. */
const withNodes = (text: string, wanted: string): string => {
  const [version = '', ...own] = wanted.split(' ').slice(0, -1);
  const others = text
    .split(/ +/)
    .slice(1)
    .filter(term => !/^[+?~-]?all$/i.test(term) && !own.includes(term.toLowerCase()));
  const end = /(^| )~all( |$)/i.test(text) ? '~all' : '-all';
  const isRedirected = others.some(term => /^redirect=/i.test(term));
  return [version, ...own, ...others, ...(isRedirected ? [] : [end])].join(' ');
};

const faultOfEnd = (text: string): string | undefined => {
  const terms = text.toLowerCase().split(/ +/);
  const all = terms.find(term => /^[+?~-]?all$/.test(term));
  if (all === 'all' || all === '+all') return `${all} lets everybody send as this domain; end with -all or ~all`;
  if (all === '?all') return '?all says nothing about other senders; end with -all or ~all';
  if (all === undefined && !terms.some(term => term.startsWith('redirect='))) return 'the end is missing: -all or ~all';
  return undefined;
};
