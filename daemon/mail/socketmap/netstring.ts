// Netstrings such as `5:hello,` (https://cr.yp.to/proto/netstrings.txt). Bytes in, bytes out.

export interface NetstringReader {
  /** The netstrings that `chunk` completes, in order. Throws a `MalformedNetstring` for other bytes; the reader is unusable then. */
  push(chunk: Buffer): Buffer[];
}

export class MalformedNetstring extends Error {
  override name = 'MalformedNetstring';
}

const [zero, nine, colon, comma] = ['0', '9', ':', ','].map(sign => sign.charCodeAt(0)) as [number, number, number, number];

/** Buffers at most `maxBytes` and a few digits, whatever length is announced. */
export const createNetstringReader = (maxBytes: number): NetstringReader => {
  const maxDigits = String(maxBytes).length;
  let digits = '';
  /** Missing bytes of the current netstring, including its comma; undefined while its length is read. */
  let missing: number | undefined;
  let parts: Buffer[] = [];

  /** Reads the length up to its colon; returns the index after the colon. */
  const readLength = (chunk: Buffer, from: number): number => {
    for (let at = from; at < chunk.length; at += 1) {
      const sign = chunk[at] ?? 0;
      if (sign === colon && digits !== '') {
        missing = Number(digits) + 1;
        if (missing > maxBytes + 1) throw new MalformedNetstring(`a netstring of ${digits} bytes, at most ${maxBytes} are taken`);
        return at + 1;
      }
      if (sign < zero || sign > nine || digits === '0' || digits.length >= maxDigits)
        throw new MalformedNetstring('no length where a netstring should begin');
      digits += String.fromCharCode(sign);
    }
    return chunk.length;
  };

  /** Reads up to `missing` bytes; returns the netstring without its comma once it is complete. */
  const readRest = (chunk: Buffer): Buffer | undefined => {
    missing = (missing ?? 0) - chunk.length;
    // Copied, as a part that waits for the rest must not keep its whole chunk in memory.
    parts.push(missing > 0 ? Buffer.from(chunk) : chunk);
    if (missing > 0) return undefined;

    const whole = Buffer.concat(parts);
    if (whole.at(-1) !== comma) throw new MalformedNetstring('a netstring does not end where it said');
    [digits, missing, parts] = ['', undefined, []];
    return whole.subarray(0, -1);
  };

  return {
    push(chunk) {
      const complete: Buffer[] = [];
      for (let at = 0; at < chunk.length; ) {
        if (missing === undefined) at = readLength(chunk, at);
        const part = chunk.subarray(at, at + (missing ?? 0));
        at += part.length;
        const whole = part.length > 0 ? readRest(part) : undefined;
        if (whole) complete.push(whole);
      }
      return complete;
    },
  };
};

export const netstring = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(`${bytes.length}:`), bytes, Buffer.from(',')]);
};
