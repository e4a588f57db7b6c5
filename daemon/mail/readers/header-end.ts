const lineEnd = Buffer.from('\r\n');

/** A mail that ends within its header block is read as a header with an empty body. */
export const withHeaderEnd = (mail: Buffer): Buffer => {
  if (mail.includes('\r\n\r\n') || mail.subarray(0, 2).equals(lineEnd)) return mail;
  return Buffer.concat(mail.at(-1) === lineEnd[1] ? [mail, lineEnd] : [mail, lineEnd, lineEnd]);
};
