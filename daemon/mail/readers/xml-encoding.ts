// Text of an XML document by the encoding that it has, or says that it has (XML 1.0 appendix F).
import {TextDecoder} from 'node:util';

const headBytes = 200;

/** The beginning, for a look at what it is. */
export const headOfXml = (bytes: Buffer): string => new TextDecoder(wideEncoding(bytes)).decode(bytes.subarray(0, headBytes));

export async function* decodedXml(xml: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  for await (const chunk of xml) {
    decoder ??= decoderFor(chunk);
    yield decoder.decode(chunk, {stream: true});
  }
}

const decoderFor = (first: Buffer): TextDecoder => {
  const wide = wideEncoding(first);
  if (wide !== undefined) return new TextDecoder(wide);
  const [, declared = 'utf-8'] = /^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(headOfXml(first)) ?? [];
  // What can be read as bytes is no UTF-16, although some programs write so.
  if (/^utf-?16/i.test(declared)) return new TextDecoder();
  try {
    return new TextDecoder(declared);
  } catch {
    // The names in a report are ASCII in most encodings.
    return new TextDecoder();
  }
};

/** By the mark at the beginning, or the zeros in the first `<`. */
const wideEncoding = (bytes: Buffer): 'utf-16le' | 'utf-16be' | undefined => {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  return (first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c) ? 'utf-16be' : undefined;
};
