// XML of an aggregate report (RFC 9990 section 3.1.1, RFC 7489 appendix C), read as a stream. The names and the order of elements that
// are not needed do not matter, as reports differ in them.
import {isIP} from 'node:net';
import sax from 'sax';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import {canonicalHost} from '../../../shared/host-port.ts';
import type {ReceivedReport, ReportedSource} from '../../services/dmarc/received-report.ts';

/** One report must fit into memory: a large receiver names some ten thousand addresses. */
const maxSourcesOfReport = 150_000;
/** The sums of a year of reports stay whole numbers. */
const maxCount = 1_000_000_000;
const maxDepth = 12;
const maxAttributes = 50;
const maxValueChars = 500;

/** One `record`, as far as it has been read. */
interface Row {
  source_ip: string;
  count: string;
  header_from: string;
  isSpfAligned: boolean;
  isDkimAligned: boolean;
  isSpfPassed: boolean;
  isDkimPassed: boolean;
}

const newRow = (): Row => ({
  source_ip: '',
  count: '',
  header_from: '',
  isSpfAligned: false,
  isDkimAligned: false,
  isSpfPassed: false,
  isDkimPassed: false,
});

interface Reading {
  report_id: string;
  policy_domain: string;
  begin: string;
  end: string;
  row: Row;
}

/** What is done with the text of an element, by its path. */
const readers: Record<string, (to: Reading, text: string) => void> = {
  'feedback/report_metadata/report_id': (to, text) => Object.assign(to, {report_id: text}),
  'feedback/report_metadata/date_range/begin': (to, text) => Object.assign(to, {begin: text}),
  'feedback/report_metadata/date_range/end': (to, text) => Object.assign(to, {end: text}),
  'feedback/policy_published/domain': (to, text) => Object.assign(to, {policy_domain: text}),
  'feedback/record/row/source_ip': ({row}, text) => Object.assign(row, {source_ip: text}),
  'feedback/record/row/count': ({row}, text) => Object.assign(row, {count: text}),
  'feedback/record/row/policy_evaluated/spf': ({row}, text) => Object.assign(row, {isSpfAligned: isPass(text)}),
  'feedback/record/row/policy_evaluated/dkim': ({row}, text) => Object.assign(row, {isDkimAligned: isPass(text)}),
  'feedback/record/identifiers/header_from': ({row}, text) => Object.assign(row, {header_from: text}),
  'feedback/record/auth_results/spf/result': ({row}, text) => isPass(text) && Object.assign(row, {isSpfPassed: true}),
  'feedback/record/auth_results/dkim/result': ({row}, text) => isPass(text) && Object.assign(row, {isDkimPassed: true}),
};

const isPass = (text: string): boolean => text.toLowerCase() === 'pass';

/** Reads the XML to its end. Rejects with an Error in plain words when it is no report. */
export const parseReport = async (
  xml: AsyncIterable<Buffer>,
  {maxSources = maxSourcesOfReport} = {},
): Promise<ReceivedReport> => {
  const reading: Reading = {report_id: '', policy_domain: '', begin: '', end: '', row: newRow()};
  const sources = createSources(maxSources);
  const write = elementReader({
    onText: (path, text) => readers[path]?.(reading, text),
    onEnd(path) {
      if (path !== 'feedback/record') return;
      sources.add(reading.row);
      reading.row = newRow();
    },
  });
  // Reports are UTF-8; of other encodings only names that are shown would differ.
  const decoder = new TextDecoder();
  for await (const chunk of xml) write(decoder.decode(chunk, {stream: true}));
  write(null);

  const {report_id, begin, end} = reading;
  const policyDomain = canonicalDomain(reading.policy_domain);
  if (report_id === '') throw new Error('the report has no report_id');
  if (policyDomain === undefined) throw new Error('the report names no policy domain');
  return {
    report_id,
    policy_domain: policyDomain,
    begin: wholeNumber(begin, 'begin'),
    end: wholeNumber(end, 'end'),
    sources: sources.list(),
  };
};

interface Events {
  /** Called with the text of each element, without white space around it. */
  onText(path: string, text: string): void;
  onEnd(path: string): void;
}

/** A function for the next piece of the XML, or null for its end. It throws at the first thing that belongs in no report. */
const elementReader = ({onText, onEnd}: Events): ((piece: string | null) => void) => {
  // Without positions it has no limit for what has no end, such as a name.
  const parser = sax.parser(true, {position: true});
  const paths: string[] = [];
  let text = '';
  let attributes = 0;
  const refuse = (why: string): never => {
    throw new Error(why);
  };
  const addText = (more: string): void => {
    if (text.length < maxValueChars) text = (text + more).slice(0, maxValueChars);
  };

  // A document type may define entities, which no report needs.
  parser.ondoctype = () => refuse('it has a document type');
  parser.onerror = error => refuse(`it is no XML: ${error.message.split('\n', 1)[0]}`);
  parser.onattribute = () => {
    attributes += 1;
    if (attributes > maxAttributes) refuse('an element has too many attributes');
  };
  parser.onopentag = ({name}) => {
    const local = name.slice(name.indexOf(':') + 1);
    if (paths.length >= maxDepth) refuse('its elements are nested too deeply');
    if (paths.length === 0 && local !== 'feedback') refuse('it is another kind of XML');
    paths.push(paths.length === 0 ? local : `${paths.at(-1)}/${local}`);
    text = '';
    attributes = 0;
  };
  parser.ontext = addText;
  parser.oncdata = addText;
  parser.onclosetag = () => {
    const path = paths.pop() ?? '';
    onText(path, text.trim());
    onEnd(path);
    text = '';
  };
  return piece => {
    if (piece === null) parser.close();
    else parser.write(piece);
  };
};

/** One entry for each address and domain in From. */
const createSources = (maxSources: number) => {
  const byName = new Map<string, Map<string, ReportedSource>>();
  let total = 0;
  let size = 0;

  return {
    add(row: Row): void {
      const header_from = canonicalDomain(row.header_from);
      const count = wholeNumber(row.count, 'count');
      total += count;
      if (isIP(row.source_ip) === 0) throw new Error('a record has no address in source_ip');
      if (total > maxCount) throw new Error(`it counts more than ${maxCount} mails`);
      // Whoever forges mail chooses what is in From, and receivers report it as it was. No domain here is called so.
      if (header_from === undefined) return;
      const source_ip = canonicalHost(row.source_ip);
      const byAddress = byName.get(header_from) ?? new Map<string, ReportedSource>();
      byName.set(header_from, byAddress);
      const known = byAddress.get(source_ip);
      if (!known) size += 1;
      if (size > maxSources) throw new Error(`it has more than ${maxSources} sources`);
      const source = known ?? {header_from, source_ip, ...nothing};
      byAddress.set(source_ip, source);
      addTo(source, row, count);
    },
    list: () => [...byName.values()].flatMap(byAddress => [...byAddress.values()]),
  };
};

const addTo = (source: ReportedSource, row: Row, count: number): void => {
  source.count += count;
  if (row.isSpfAligned || row.isDkimAligned) source.passed += count;
  if (row.isSpfPassed) source.spf_passed += count;
  if (row.isSpfAligned) source.spf_aligned += count;
  if (row.isDkimPassed) source.dkim_passed += count;
  if (row.isDkimAligned) source.dkim_aligned += count;
};

const nothing = {count: 0, passed: 0, spf_passed: 0, spf_aligned: 0, dkim_passed: 0, dkim_aligned: 0};

const wholeNumber = (text: string, what: string): number => {
  if (!/^\d{1,12}$/.test(text)) throw new Error(`its ${what} is no whole number`);
  return Number(text);
};
