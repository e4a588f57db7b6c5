// Parser of hostile YAML into plain values. Its cost grows with the size of the text and no faster, while the library alone
// compares each name of a mapping with all others, searches the whole document for each alias, and recurses into
// everything nested.

import type {Alias, CST, Document, LineCounter, Node, Pair, ParsedNode, Parser, YAMLMap, YAMLSeq} from 'yaml';
import {hasOwn} from '../../shared/has-own.ts';

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
  if (!hasOwn(composed, 'contents')) return {faults: [composed]};

  const lineAt = (offset = 0): number => lines.linePos(offset).line;
  const lineOfNode = (node: unknown): number => lineAt((node as Partial<ParsedNode> | null)?.range?.[0]);
  const faults: LineFault[] = [...composed.errors, ...composed.warnings].map(({message, pos}) => ({
    line: lineAt(pos[0]),
    detail: `${message} (column ${lines.linePos(pos[0]).col})`,
  }));
  const {contents} = composed;
  const reportFault = (node: unknown, detail: string): void => void faults.push({line: lineOfNode(node), detail});
  const {value, targets} = plainValue(yaml, contents, reportFault);
  return faults.length > 0 ? {faults} : {value, lineOf: createLineOf(yaml, {contents, targets, lineOfNode})};
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

interface Plain {
  value: unknown;
  /** The target of each alias: the last node before it with that anchor. */
  targets: ReadonlyMap<Alias, Node>;
}

interface Made {
  value: unknown;
  /** The count of values in it, with each repetition. */
  count: number;
}

/** Plain values. The value of an alias is built once and shared, so a short text may expand to a large value. */
const plainValue = (
  {isAlias, isMap, isScalar, isSeq}: Yaml,
  contents: ParsedNode | null,
  reportFault: (node: unknown, detail: string) => void,
): Plain => {
  const anchored = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const made = new Map<Node, Made>();
  const fail = (node: unknown, detail: string): Made => {
    reportFault(node, detail);
    return {value: null, count: 1};
  };

  const make = (node: unknown): Made => {
    if (isAlias(node)) return makeAlias(node);
    if (!isScalar(node) && !isSeq(node) && !isMap(node)) return {value: null, count: 1};
    if (node.anchor !== undefined) anchored.set(node.anchor, node);
    const one = isScalar(node) ? {value: node.value, count: 1} : makeCollection(node);
    if (one.count > maxValues)
      return fail(node, `has more than ${maxValues} values with its aliases expanded; divide the file into several`);
    made.set(node, one);
    return one;
  };
  const makeAlias = (alias: Alias): Made => {
    const target = anchored.get(alias.source);
    if (!target) return fail(alias, `Unresolved alias (the anchor must be set before the alias): ${alias.source}`);
    targets.set(alias, target);
    return made.get(target) ?? fail(alias, 'an alias cannot stand for what it is a part of');
  };
  const makeCollection = (node: YAMLSeq | YAMLMap): Made => {
    if (isSeq(node)) {
      const items = node.items.map(make);
      return {value: items.map(({value}) => value), count: sum(items)};
    }
    const members = new Map<string, Made>();
    for (const {key, value} of node.items) {
      const name = isScalar(key) ? String(key.value) : '';
      if (!isScalar(key)) reportFault(key, 'a list or mapping cannot be a name');
      else if (members.has(name)) reportFault(key, 'Map keys must be unique');
      members.set(name, make(value));
    }
    return {value: Object.fromEntries([...members].map(([name, {value}]) => [name, value])), count: sum([...members.values()])};
  };
  const {value} = make(contents);
  return {value, targets};
};

const sum = (made: readonly {count: number}[]): number => made.reduce((total, {count}) => total + count, 1);

const createLineOf = (
  {isAlias, isMap, isScalar, isSeq}: Yaml,
  {contents, targets, lineOfNode}: {contents: unknown; targets: Plain['targets']; lineOfNode(node: unknown): number},
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
