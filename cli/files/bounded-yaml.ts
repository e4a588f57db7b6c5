// Parser of hostile YAML into plain values. Its cost grows with the size of the text and no faster, while the library alone
// compares each name of a mapping with all others, searches the whole document for each alias, and recurses into
// everything nested.
import type {Alias, CST, Document, LineCounter, Node, Pair, ParsedNode, Parser, YAMLMap} from 'yaml';

type Yaml = typeof import('yaml');

export interface LineFault {
  line: number;
  detail: string;
}

export interface BoundedYaml {
  value: unknown;
  /** The line of the member or entry at a path, or of the nearest one above it. */
  lineOf(path: readonly (string | number)[]): number;
}

/** Tokens: words, punctuation, indentations and line ends. Twenty thousand domains with a few filters each have fewer. */
const maxPieces = 4_000_000;
/** Files of mfctl are at most six levels deep. */
const maxDepth = 100;
/** Values, with those of aliases expanded. */
const maxValues = 1_000_000;

/** Returns the faults of the text in place of a value when it has any. */
export const readBoundedYaml = async (text: string, most = maxPieces): Promise<BoundedYaml | {faults: LineFault[]}> => {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const composed = compose(yaml, text, {lines, most});
  if (!('contents' in composed)) return {faults: [composed]};

  const lineAt = (offset = 0): number => lines.linePos(offset).line;
  const lineOfNode = (node: unknown): number => lineAt((node as Partial<ParsedNode> | null)?.range?.[0]);
  const faults: LineFault[] = [...composed.errors, ...composed.warnings].map(({message, pos}) => ({
    line: lineAt(pos[0]),
    detail: message,
  }));
  const reportFault = (node: unknown, detail: string): void => void faults.push({line: lineOfNode(node), detail});
  const targets = findTargets(yaml, composed, reportFault);
  checkNames(yaml, composed, reportFault);
  if (faults.length > 0) return {faults};

  const value = plainValue(yaml, {contents: composed.contents, targets, reportFault});
  return faults.length > 0 ? {faults} : {value, lineOf: createLineOf(yaml, {contents: composed.contents, targets, lineOfNode})};
};

/** As `parseDocument`, token by token; stops at the first token beyond the limits. */
const compose = (yaml: Yaml, text: string, {lines, most}: {lines: LineCounter; most: number}): Document.Parsed | LineFault => {
  lines.addNewLine(0);
  const parser = new yaml.Parser(lines.addNewLine);
  const composer = new yaml.Composer({
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    resolveKnownTags: false,
    uniqueKeys: false,
  });
  let document: Document.Parsed | undefined;
  try {
    for (const one of composer.compose(boundedTokens(yaml, {parser, text, most}), true, text.length)) {
      document ??= one;
      if (document === one) continue;
      const message = 'Source contains multiple documents; there must be one';
      document.errors.push(new yaml.YAMLParseError([one.range[0], one.range[1]], 'MULTIPLE_DOCS', message));
      break;
    }
  } catch (error) {
    if (error instanceof TooMuch) return {line: lines.linePos(error.offset).line, detail: error.message};
    throw error;
  }
  return document ?? {line: 1, detail: 'is empty'};
};

class TooMuch extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

const boundedTokens = function* (
  yaml: Yaml,
  {parser, text, most}: {parser: Parser; text: string; most: number},
): Generator<CST.Token> {
  let pieces = 0;
  for (const piece of new yaml.Lexer().lex(text)) {
    pieces += 1;
    if (pieces > most) throw new TooMuch('from here on the file is too large; divide it into several', parser.offset);
    yield* parser.next(piece);
    if (parser.stack.length > maxDepth) throw new TooMuch('is nested too deeply', parser.offset);
  }
  yield* parser.end();
};

type ComplainOfNode = (node: unknown, detail: string) => void;

/** The target of each alias: the last node before it with that anchor. */
const findTargets = ({visit}: Yaml, document: Document, reportFault: ComplainOfNode): Map<Alias, Node> => {
  const anchored = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const note = (_: unknown, node: Node & {anchor?: string}): void => {
    if (node.anchor !== undefined) anchored.set(node.anchor, node);
  };
  visit(document, {
    Collection: note,
    Scalar: note,
    Alias(_, alias) {
      const target = anchored.get(alias.source);
      if (target) targets.set(alias, target);
      else reportFault(alias, `Unresolved alias (the anchor must be set before the alias): ${alias.source}`);
    },
  });
  return targets;
};

const checkNames = ({visit, isScalar}: Yaml, document: Document, reportFault: ComplainOfNode): void => {
  visit(document, {
    Map(_, {items}) {
      const seen = new Set<string>();
      for (const {key} of items) {
        if (!isScalar(key)) reportFault(key, 'a list or mapping cannot be a name');
        else if (seen.has(String(key.value))) reportFault(key, 'Map keys must be unique');
        else seen.add(String(key.value));
      }
    },
  });
};

interface Contents {
  contents: unknown;
  targets: ReadonlyMap<Alias, Node>;
}

/** Plain values. The value of an alias is built once and shared, so a short text may expand to a large value. */
const plainValue = (
  {isAlias, isMap, isScalar, isSeq}: Yaml,
  {contents, targets, reportFault}: Contents & {reportFault: ComplainOfNode},
): unknown => {
  interface Made {
    value: unknown;
    /** The count of values in it, with each repetition. */
    count: number;
  }
  const made = new Map<unknown, Made>();
  const fail = (node: unknown, detail: string): Made => {
    reportFault(node, detail);
    return {value: null, count: 1};
  };

  const make = (node: unknown): Made => {
    if (isAlias(node)) return made.get(targets.get(node)) ?? fail(node, 'an alias cannot stand for what it is a part of');
    const one = makeOne(node);
    if (one.count > maxValues)
      return fail(
        node,
        `comes to more than ${maxValues} values with all that its aliases stand for; divide the file into several`,
      );
    made.set(node, one);
    return one;
  };
  const makeOne = (node: unknown): Made => {
    if (isScalar(node)) return {value: node.value, count: 1};
    if (isSeq(node)) {
      const items = node.items.map(make);
      return {value: items.map(({value}) => value), count: sum(items)};
    }
    if (!isMap(node)) return {value: null, count: 1};
    const members = node.items.map(({key, value}) => [isScalar(key) ? String(key.value) : '', make(value)] as const);
    return {
      value: Object.fromEntries(members.map(([name, {value}]) => [name, value])),
      count: sum(members.map(([, one]) => one)),
    };
  };
  return make(contents).value;
};

const sum = (made: readonly {count: number}[]): number => made.reduce((total, {count}) => total + count, 1);

const createLineOf = (
  {isAlias, isMap, isScalar, isSeq}: Yaml,
  {contents, targets, lineOfNode}: Contents & {lineOfNode(node: unknown): number},
): BoundedYaml['lineOf'] => {
  const known = new Map<YAMLMap, Map<string, Pair>>();
  const pairsOf = (map: YAMLMap): Map<string, Pair> => {
    const pairs = known.get(map) ?? new Map(map.items.map(pair => [isScalar(pair.key) ? String(pair.key.value) : '', pair]));
    known.set(map, pairs);
    return pairs;
  };

  return path => {
    let node = contents;
    let line = lineOfNode(node);
    for (const step of path) {
      if (isAlias(node)) node = targets.get(node);
      const pair = isMap(node) ? pairsOf(node).get(String(step)) : undefined;
      const found: unknown = pair?.key ?? (isSeq(node) ? node.items[Number(step)] : undefined);
      if (found === undefined) break;
      line = lineOfNode(found);
      node = pair ? pair.value : found;
    }
    return line;
  };
};
