// A mail without some of its header fields; all other bytes stay as they came.
import {Readable} from 'node:stream';
import {createHeaderReader, type PlacedField} from '../services/intake/header-block.ts';
import type {MailContent} from '../services/intake/mail.ts';

interface Range {
  from: number;
  to: number;
}

/** The content is that of `content`: discarding either discards both. */
export const withoutFields = async (content: MailContent, isRemoved: (field: PlacedField) => boolean): Promise<MailContent> => {
  const header = createHeaderReader();
  for await (const chunk of content.open() as AsyncIterable<Buffer>) {
    header.push(chunk);
    if (header.isDone) break;
  }
  const ranges = header
    .placedFields()
    .filter(isRemoved)
    .map(({from, to}) => ({from, to}));
  const removedBytes = ranges.reduce((sum, {from, to}) => sum + to - from, 0);
  return {
    sizeBytes: content.sizeBytes - removedBytes,
    open: () => Readable.from(outside(ranges, content.open()), {objectMode: false}),
    discard: content.discard,
  };
};

async function* outside(ranges: readonly Range[], bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const chunk of bytes) {
    let kept = 0;
    for (const {from, to} of ranges) {
      if (to <= at || from >= at + chunk.length) continue;
      if (from > at + kept) yield chunk.subarray(kept, from - at);
      kept = Math.min(to - at, chunk.length);
    }
    if (kept < chunk.length) yield chunk.subarray(kept);
    at += chunk.length;
  }
}
