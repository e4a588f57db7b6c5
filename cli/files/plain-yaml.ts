// The YAML that mfctl itself writes of contexts: mappings and lists of plain words, and nothing else. A tenth of what most commands take would
// be to load a library that knows all of YAML, for a few lines of it.

export type PlainMapping = {[name: string]: string | string[] | PlainMapping};

const line =
  /^(?<indent> *)(?:(?<name>[A-Za-z][\w.-]*):(?: (?<value>[A-Za-z/][\w.:/@+-]*[\w/]|[A-Za-z/]))?|- (?<item>[A-Za-z/][\w.:/@+-]*[\w/]|[A-Za-z/]))$/;
/** What YAML takes for something else than text, as a value and as a name (YAML 1.2, section 10.3.2). */
const reserved = /^(?:null|true|false)$/i;

/** What the text says, where that needs no more of YAML; undefined for all else, which may be right or wrong. */
export const parsePlainYaml = (text: string): PlainMapping | undefined => {
  const root: PlainMapping = {};
  const reading: Reading = {open: [root], isBegun: true};
  const isPlain = linesOf(text).every(read => (read.item === undefined ? takeName(reading, read) : takeItem(reading, read)));
  // A name without anything is null.
  return isPlain && !reading.isBegun ? root : undefined;
};

interface Reading {
  /** The mappings that may go on, from the outermost. */
  open: PlainMapping[];
  /** The last line was a name without a value. */
  isBegun: boolean;
  /** That name. Its value is a mapping unless the next line is an item of a list. */
  named?: {of: PlainMapping; name: string};
  list?: string[];
}

const takeName = (reading: Reading, {indent, name, value}: Line): boolean => {
  const {open, isBegun} = reading;
  const depth = indent.length / 2;
  const mapping = open[depth];
  if (!name || !mapping || Object.hasOwn(mapping, name) || (isBegun && depth !== open.length - 1)) return false;
  open.length = depth + 1;
  delete reading.list;
  reading.isBegun = value === undefined;
  const inner: PlainMapping = {};
  mapping[name] = value ?? inner;
  if (!reading.isBegun) return true;
  reading.named = {of: mapping, name};
  open.push(inner);
  return true;
};

const takeItem = (reading: Reading, {indent, item = ''}: Line): boolean => {
  const {open, named, isBegun} = reading;
  if (isBegun && named) {
    open.pop();
    reading.list = [];
    named.of[named.name] = reading.list;
    reading.isBegun = false;
  }
  // Items are indented as the members of a mapping would be.
  if (!reading.list || indent.length / 2 !== open.length) return false;
  reading.list.push(item);
  return true;
};

interface Line {
  indent: string;
  /** None of a line that is anything else. */
  name?: string;
  value?: string;
  item?: string;
}

const linesOf = (text: string): Line[] =>
  text.split('\n').flatMap((one, at, all): Line[] => {
    if (one === '' && at > 0 && at === all.length - 1) return [];
    const {indent = '', name = '', value, item} = line.exec(one)?.groups ?? {};
    if ([name, value ?? '', item ?? ''].some(word => reserved.test(word))) return [{indent}];
    return [{indent, name, ...(value !== undefined && {value}), ...(item !== undefined && {item})}];
  });
