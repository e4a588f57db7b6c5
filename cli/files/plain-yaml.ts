// The YAML that mfctl itself writes of contexts: mappings of plain words, and nothing else. A tenth of what most commands take would be to
// load a library that knows all of YAML, for a few lines of it.

export type PlainMapping = {[name: string]: string | PlainMapping};

const line = /^(?<indent> *)(?<name>[A-Za-z][\w.-]*):(?: (?<value>[A-Za-z/][\w.:/@+-]*[\w/]|[A-Za-z/]))?$/;
/** What YAML takes for something else than text, as a value and as a name (YAML 1.2, section 10.3.2). */
const reserved = /^(?:null|true|false)$/i;

/** What the text says, where that needs no more of YAML; undefined for all else, which may be right or wrong. */
export const parsePlainYaml = (text: string): PlainMapping | undefined => {
  const root: PlainMapping = {};
  /** The mappings that may go on, from the outermost. */
  const open = [root];
  let isBegun = true;
  for (const {indent, name, value} of linesOf(text)) {
    const depth = indent.length / 2;
    const mapping = open[depth];
    if (!name || !mapping || Object.hasOwn(mapping, name) || (isBegun && depth !== open.length - 1)) return undefined;
    open.length = depth + 1;
    isBegun = value === undefined;
    const inner: PlainMapping = {};
    mapping[name] = value ?? inner;
    if (value === undefined) open.push(inner);
  }
  // A name without anything is null.
  return isBegun ? undefined : root;
};

interface Line {
  indent: string;
  /** None of a line that is anything else. */
  name?: string;
  value?: string;
}

const linesOf = (text: string): Line[] =>
  text.split('\n').flatMap((one, at, all): Line[] => {
    if (one === '' && at > 0 && at === all.length - 1) return [];
    const {indent = '', name = '', value} = line.exec(one)?.groups ?? {};
    return [reserved.test(name) || reserved.test(value ?? '') ? {indent} : {indent, name, ...(value !== undefined && {value})}];
  });
