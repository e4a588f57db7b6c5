// A mail without some of its header fields; all other bytes stay as they came.
import {Readable} from 'node:stream';
import {createHeaderReader, type HeaderReader, type PlacedField} from '../services/intake/header-block.ts';
import type {MailContent} from '../services/intake/mail.ts';

interface Range {
  from: number;
  to: number;
}

/** The content is that of `content`: discarding either discards both. */
export const withoutFields = async (content: MailContent, isRemoved: (field: PlacedField) => boolean): Promise<MailContent> => {
  const header = await readHeader(content);
  return withoutRanges(content, header.placedFields().filter(isRemoved));
};

export const readHeader = async (content: MailContent): Promise<HeaderReader> => {
  const header = createHeaderReader();
  for await (const chunk of content.open() as AsyncIterable<Buffer>) {
    header.push(chunk);
    if (header.isDone) break;
  }
  return header;
};

/** The content without these fields, which are in the order of the mail. Discarding either discards both. */
export const withoutRanges = (content: MailContent, fields: readonly Range[]): MailContent => {
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
