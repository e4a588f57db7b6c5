/** Of unknown keys that one address sends within a minute, more than twenty are too many. */
const perAddress = 15;
let given = 0;

/** Addresses of this machine for requests with keys that a node does not know: none of them is given too often. */
export const otherAddress = (): string => {
  const number = Math.floor(given / perAddress) % (256 * 256);
  given += 1;
  return `127.1.${number >> 8}.${number & 255}`;
};
