// Place where a text breaks JSON (RFC 8259). JSON.parse finds out that it does, but names the place for some faults only.

const space = /[ \t\n\r]*/y;
const word = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const stringPart = /[ !#-[\]-\uffff]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}/y;

type Kind = '{' | '}' | '[' | ']' | ':' | ',' | '"' | 'word';
type State = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma or ]' | 'comma or }' | 'end';

/** `after`: what the enclosing list or object wants after a value. */
const values = {'{': 'name or }', '[': 'value or ]', '"': 'after', word: 'after'} as const;
const next: Record<State, Partial<Record<Kind, State | 'after'>>> = {
  value: values,
  'value or ]': {...values, ']': 'after'},
  name: {'"': 'colon'},
  'name or }': {'"': 'colon', '}': 'after'},
  colon: {':': 'value'},
  'comma or ]': {',': 'value', ']': 'after'},
  'comma or }': {',': 'name', '}': 'after'},
  end: {},
};

/** `line 3, column 7` of the first character that cannot stand there, or of the end; undefined for JSON. Linear in the length. */
export const jsonFault = (text: string): string | undefined => {
  const at = faultAt(text);
  if (at === undefined) return undefined;
  const lines = text.slice(0, at).split(/\r\n|[\n\r]/);
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
};

const faultAt = (text: string): number | undefined => {
  const open: ('comma or ]' | 'comma or }')[] = [];
  let state: State = 'value';
  for (let at = endOf(space, text, 0); at < text.length; ) {
    const kind = kindOf(text.charAt(at));
    const then: State | 'after' | undefined = next[state][kind];
    if (then === undefined) return at;
    const token = tokenAt(kind, text, at);
    if (token.fault !== undefined) return token.fault;
    if (kind === '[') open.push('comma or ]');
    else if (kind === '{') open.push('comma or }');
    else if (kind === ']' || kind === '}') open.pop();
    state = then === 'after' ? (open.at(-1) ?? 'end') : then;
    at = endOf(space, text, token.end);
  }
  return state === 'end' ? undefined : text.length;
};

const kindOf = (char: string): Kind => ('{}[]:,"'.includes(char) ? (char as Kind) : 'word');

const tokenAt = (kind: Kind, text: string, at: number): {end: number; fault?: number} => {
  if (kind === 'word') {
    const end = endOf(word, text, at);
    return end === at ? {end, fault: at} : {end};
  }
  if (kind !== '"') return {end: at + 1};
  const end = endOfString(text, at + 1);
  return text[end] === '"' ? {end: end + 1} : {end, fault: end};
};

/** Its closing quote, or what it cannot have. Part by part: one pattern for all of a long string would exhaust the stack. */
const endOfString = (text: string, from: number): number => {
  let at = from;
  for (let end = endOf(stringPart, text, at); end > at; end = endOf(stringPart, text, at)) at = end;
  return at;
};

/** Where the match at `at` ends; `at` without one. */
const endOf = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
};
