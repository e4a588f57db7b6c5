// The content of a mail as it goes after DATA.
import {Transform, type TransformCallback} from 'node:stream';

const [CR, LF, DOT] = [0x0d, 0x0a, 0x2e];
const [cr, lf, dot] = [Buffer.from('\r'), Buffer.from('\n'), Buffer.from('.')];

/**
 * A dot goes before each line that begins with one, and a line with one dot is the end (RFC 5321 section 4.5.2). A bare CR or LF becomes
 * CRLF: a server that takes it for the end of a line could find the end of the mail after it, and then commands.
 */
export class DotStuffing extends Transform {
  #last = LF;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const parts: Buffer[] = [];
    let taken = 0;
    const insert = (at: number, bytes: Buffer): void => {
      parts.push(chunk.subarray(taken, at), bytes);
      taken = at;
    };
    const find = (byte: number, from: number): number => {
      const at = chunk.indexOf(byte, from);
      return at < 0 ? chunk.length : at;
    };
    const before = (at: number): number | undefined => (at === 0 ? this.#last : chunk[at - 1]);

    let [nextCr, nextLf] = [find(CR, 0), find(LF, 0)];
    for (let at = 0; at < chunk.length; ) {
      if (before(at) === CR && chunk[at] !== LF) insert(at, lf);
      if (chunk[at] === DOT && isLineEnd(before(at))) insert(at, dot);
      if (nextCr < at) nextCr = find(CR, at);
      if (nextLf < at) nextLf = find(LF, at);
      if (nextLf < nextCr && before(nextLf) !== CR) insert(nextLf, cr);
      at = nextLf === nextCr + 1 ? nextLf + 1 : Math.min(nextLf, nextCr) + 1;
    }
    this.#last = chunk.at(-1) ?? this.#last;
    this.push(parts.length === 0 ? chunk : Buffer.concat([...parts, chunk.subarray(taken)]));
    done();
  }

  override _flush(done: TransformCallback): void {
    this.push({[LF]: '.\r\n', [CR]: '\n.\r\n'}[this.#last] ?? '\r\n.\r\n');
    done();
  }
}

const isLineEnd = (byte: number | undefined): boolean => byte === LF || byte === CR;
