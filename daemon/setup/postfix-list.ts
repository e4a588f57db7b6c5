// Postfix lists, separated by commas and white space except within braces (postconf(5)).

interface Span {
  text: string;
  start: number;
  end: number;
}

export const listEntries = (value: string): string[] => spansOf(value).map(({text}) => text);

/** The subject of an entry: `unix:path` for `{ unix:path, default_action=accept }`. */
export const subjectOf = (entry: string): string =>
  entry.startsWith('{') && entry.endsWith('}') ? (listEntries(entry.slice(1, -1))[0] ?? '') : entry;

export const hasEntry = (value: string, entry: string): boolean => listEntries(value).includes(entry);

/** Adds the entry, and leaves the rest of the text unchanged. */
export const withEntry = (value: string, entry: string): string => {
  const kept = value.replace(/[\s,]+$/, '');
  return kept === '' ? entry : `${kept}, ${entry}`;
};

export const withEntryReplaced = (value: string, entry: string, next: string): string => {
  const span = spansOf(value).find(({text}) => text === entry);
  return span ? value.slice(0, span.start) + next + value.slice(span.end) : value;
};

/** Removes the entry and the separator before it. */
export const withoutEntry = (value: string, entry: string): string => {
  const spans = spansOf(value);
  const index = spans.findIndex(({text}) => text === entry);
  const [span, before, after] = [spans[index], spans[index - 1], spans[index + 1]];
  if (!span) return value;
  if (before) return value.slice(0, before.end) + value.slice(span.end);
  return after ? value.slice(after.start) : '';
};

const spansOf = (value: string): Span[] => {
  const spans: Span[] = [];
  let depth = 0;
  let start: number | undefined;
  for (let at = 0; at <= value.length; at += 1) {
    const sign = value[at];
    const isApart = sign === undefined || (depth === 0 && /[\s,]/.test(sign));
    if (!isApart) start ??= at;
    else if (start !== undefined) {
      spans.push({text: value.slice(start, at), start, end: at});
      start = undefined;
    }
    if (sign === '{') depth += 1;
    if (sign === '}') depth = Math.max(0, depth - 1);
  }
  return spans;
};
