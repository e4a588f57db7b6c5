// A mail without some of its header fields; all other bytes stay as they came.
import {Readable} from 'node:stream';
import type {MailContent, PlacedField} from '../services/intake/mail.ts';

interface Placed {
  content: MailContent;
  headers: PlacedField[];
}

interface Range {
  from: number;
  to: number;
}

/** Discarding the content that is returned discards that of `content`. */
export const withoutFields = ({content, headers}: Placed, isRemoved: (field: PlacedField) => boolean): Placed => {
  const removed = new Set(headers.filter(isRemoved));
  if (removed.size === 0) return {content, headers};
  let before = 0;
  const kept = headers.flatMap(field => {
    if (!removed.has(field)) return [{...field, from: field.from - before, to: field.to - before}];
    before += field.to - field.from;
    return [];
  });
  return {content: withoutRanges(content, [...removed]), headers: kept};
};

/** The content without these fields, which are in the order of the mail. Most mail has none. Discarding either discards both. */
export const withoutRanges = (content: MailContent, fields: readonly Range[]): MailContent => {
  if (fields.length === 0) return content;
  const ranges = joined(fields);
  const removedBytes = ranges.reduce((sum, {from, to}) => sum + to - from, 0);
  return {
    sizeBytes: content.sizeBytes - removedBytes,
    open: () => Readable.from(outside(ranges, content.open()), {objectMode: false}),
    discard: content.discard,
  };
};

const joined = (fields: readonly Range[]): Range[] => {
  const ranges: Range[] = [];
  for (const {from, to} of fields) {
    const last = ranges.at(-1);
    if (last && last.to === from) last.to = to;
    else ranges.push({from, to});
  }
  return ranges;
};

async function* outside(ranges: readonly Range[], bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let at = 0;
  let next = 0;
  for await (const chunk of bytes) {
    const end = at + chunk.length;
    let kept = at;
    const pieces: Buffer[] = [];
    for (let range = ranges[next]; range && range.from < end; range = ranges[next]) {
      if (range.from > kept) pieces.push(chunk.subarray(kept - at, range.from - at));
      kept = Math.min(range.to, end);
      // The rest of it is in the next chunk.
      if (range.to > end) break;
      next += 1;
    }
    if (kept < end) pieces.push(chunk.subarray(kept - at));
    at = end;
    // Each of thousands of pieces would take its own turn through the stream.
    const [first, ...more] = pieces;
    if (first) yield more.length === 0 ? first : Buffer.concat(pieces);
  }
}
