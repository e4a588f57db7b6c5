import {Readable} from 'node:stream';

const lineEnd = Buffer.from('\r\n');

/** mailauth reads larger buffers in pieces of this size, and its time grows with the square of the pieces of a line. It reads a stream as it comes. */
const pieceBytes = 64 * 1024;

/** The mail for mailauth, in one piece. One that ends within its header block is read as a header with an empty body. */
export const wholeMail = (mail: Buffer): Buffer | Readable => {
  const whole = withHeaderEnd(mail);
  return whole.length <= pieceBytes ? whole : Readable.from([whole], {objectMode: false});
};

const withHeaderEnd = (mail: Buffer): Buffer => {
  if (mail.includes('\r\n\r\n') || mail.subarray(0, 2).equals(lineEnd)) return mail;
  return Buffer.concat(mail.at(-1) === lineEnd[1] ? [mail, lineEnd] : [mail, lineEnd, lineEnd]);
};
