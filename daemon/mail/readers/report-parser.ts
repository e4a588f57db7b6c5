// XML of an aggregate report (RFC 9990 section 3.1.1, RFC 7489 appendix C), read as a stream. The names and the order of elements that
// are not needed do not matter, as reports differ in them.
import sax from 'sax';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import type {ReceivedReport} from '../../services/dmarc/received-report.ts';
import {maxSources as maxSourcesOfReport} from './protocol.ts';
import {createRows, newRow, type Row, wholeNumber} from './report-rows.ts';
import {decodedXml} from './xml-encoding.ts';

const maxDepth = 12;
const maxAttributes = 50;
const maxValueChars = 500;
/**
 * Tags, attributes, comments and the like are what costs time, not text. The shortest rows have one for each 20 characters; `<a/>` again and
 * again would cost ten times as much as a report of the same size.
 */
const isTooDense = (marks: number, chars: number): boolean => marks > 10_000 + chars / 12;

interface Reading {
  report_id: string;
  policy_domain: string;
  begin: string;
  end: string;
  row: Row;
  endRow(): void;
}

/** What is done with the text of an element at its end, by its path. */
const readers: Record<string, (to: Reading, text: string) => void> = {
  'feedback/report_metadata/report_id': (to, text) => Object.assign(to, {report_id: text}),
  'feedback/report_metadata/date_range/begin': (to, text) => Object.assign(to, {begin: text}),
  'feedback/report_metadata/date_range/end': (to, text) => Object.assign(to, {end: text}),
  'feedback/policy_published/domain': (to, text) => Object.assign(to, {policy_domain: text}),
  'feedback/record': to => to.endRow(),
  'feedback/record/row/source_ip': ({row}, text) => Object.assign(row, {source_ip: text}),
  'feedback/record/row/count': ({row}, text) => Object.assign(row, {count: text}),
  'feedback/record/row/policy_evaluated/spf': ({row}, text) => Object.assign(row, {isSpfAligned: isPass(text)}),
  'feedback/record/row/policy_evaluated/dkim': ({row}, text) => Object.assign(row, {isDkimAligned: isPass(text)}),
  'feedback/record/identifiers/header_from': ({row}, text) => Object.assign(row, {header_from: text}),
  'feedback/record/auth_results/spf/result': ({row}, text) => isPass(text) && Object.assign(row, {isSpfPassed: true}),
  'feedback/record/auth_results/dkim/result': ({row}, text) => isPass(text) && Object.assign(row, {isDkimPassed: true}),
};

const isPass = (text: string): boolean => text.toLowerCase() === 'pass';

/** The first report among `candidates`. Rejects with an Error in plain words when none of them is one. */
export const parseReport = async (candidates: AsyncIterable<AsyncIterable<Buffer>>): Promise<ReceivedReport> => {
  let problem: unknown;
  for await (const xml of candidates) {
    try {
      return await parseFeedback(xml);
    } catch (error) {
      // The report is behind what came with it, such as a text.
      problem = error;
    }
  }
  throw problem;
};

/** Reads the XML to its end. Rejects with an Error in plain words when it is not a report. */
export const parseFeedback = async (
  xml: AsyncIterable<Buffer>,
  {maxSources = maxSourcesOfReport} = {},
): Promise<ReceivedReport> => {
  const rows = createRows(maxSources);
  const reading: Reading = {
    ...{report_id: '', policy_domain: '', begin: '', end: '', row: newRow()},
    endRow() {
      rows.add(reading.row);
      reading.row = newRow();
    },
  };
  const write = elementReader((read, text) => read(reading, text));
  for await (const piece of decodedXml(xml)) write(piece);
  write(null);

  const {report_id, policy_domain, begin, end} = reading;
  const policyDomain = canonicalDomain(policy_domain);
  const [first, last] = [wholeNumber(begin), wholeNumber(end)];
  if (report_id === '') throw new Error('the report has no report_id');
  if (policyDomain === undefined) throw new Error('the report names no policy domain');
  if (first === undefined) throw new Error('its begin is not a whole number');
  if (last === undefined) throw new Error('its end is not a whole number');
  return {report_id, policy_domain: policyDomain, begin: first, end: last, ...rows.result()};
};

type Reader = (to: Reading, text: string) => void;

/** An element of a report, by its place in it. */
interface Place {
  read?: Reader;
  inside: Map<string, Place>;
}

const newPlace = (): Place => ({inside: new Map()});

const top = newPlace();
for (const [path, read] of Object.entries(readers)) {
  let place = top;
  for (const name of path.split('/')) {
    const next = place.inside.get(name) ?? newPlace();
    place.inside.set(name, next);
    place = next;
  }
  place.read = read;
}

/**
 * A function for the next piece of the XML, or null for its end. It throws at the first thing that belongs in no report. `onEnd` is called
 * with the reader of each element that has one, and the text in it, without white space around it.
 */
const elementReader = (onEnd: (read: Reader, text: string) => void): ((piece: string | null) => void) => {
  // Without positions it has no limit for an endless text, such as a name.
  const parser = sax.parser(true, {position: true});
  /** The open elements, undefined where nothing of theirs is read. */
  const places: (Place | undefined)[] = [];
  let place: Place | undefined = top;
  let text = '';
  let attributes = 0;
  let marks = 0;
  let chars = 0;
  const refuse = (why: string): never => {
    throw new Error(why);
  };
  const addText = (more: string): void => {
    if (place?.read && text.length < maxValueChars) text = (text + more).slice(0, maxValueChars);
  };
  const count = (): void => {
    marks += 1;
    if (isTooDense(marks, chars)) refuse('it is made of too many tags');
  };

  parser.ondoctype = type => {
    // It may define entities, or name a file that does; no report needs them.
    if (/%|\b(ENTITY|SYSTEM|PUBLIC)\b/i.test(type)) refuse('its document type has entities');
  };
  parser.onerror = error => refuse(`it is no XML: ${error.message.split('\n', 1)[0]}`);
  parser.oncomment = count;
  parser.onprocessinginstruction = count;
  parser.onattribute = () => {
    count();
    attributes += 1;
    if (attributes > maxAttributes) refuse('an element has too many attributes');
  };
  parser.onopentag = ({name}) => {
    count();
    if (places.length >= maxDepth) refuse('its elements are nested too deeply');
    const inside = place?.inside.get(name.slice(name.indexOf(':') + 1));
    if (places.length === 0 && !inside) refuse('it is another kind of XML');
    places.push(place);
    place = inside;
    text = '';
    attributes = 0;
  };
  parser.ontext = addText;
  parser.oncdata = addText;
  parser.onclosetag = () => {
    if (place?.read) onEnd(place.read, text.trim());
    place = places.pop();
    text = '';
  };
  return piece => {
    chars += piece?.length ?? 0;
    if (piece === null) parser.close();
    else parser.write(piece);
  };
};
