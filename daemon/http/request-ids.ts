import {randomFillSync} from 'node:crypto';

const idBytes = 10;
const idsAtOnce = 512;

/** Random ids in hexadecimal. Bytes are requested for many ids at once, which costs as much as for one. */
export const createRequestIds = (): (() => string) => {
  const bytes = Buffer.alloc(idBytes * idsAtOnce);
  let at = bytes.length;
  return () => {
    if (at === bytes.length) {
      randomFillSync(bytes);
      at = 0;
    }
    at += idBytes;
    return bytes.toString('hex', at - idBytes, at);
  };
};
